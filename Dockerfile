# A model behind HTTP in an image that holds one static program and nothing else.
#
#     docker build -t atomlearn-server .
#     docker run --rm -p 127.0.0.1:8642:8642 atomlearn-server                                  # digits to draw
#     docker run --rm -p 127.0.0.1:8642:8642 -v "$PWD":/models:ro atomlearn-server \
#         serve /models/wine.model --listen 0.0.0.0:8642
FROM rust:1-alpine AS build
RUN apk add --no-cache build-base
WORKDIR /source
COPY . .
RUN cargo build --release --locked --features full

FROM scratch
COPY --from=build /source/target/release/atomlearn /atomlearn
COPY LICENSE-MIT LICENSE-APACHE /
# Nobody: the server reads its models and writes nothing.
USER 65534:65534
EXPOSE 8642
ENTRYPOINT ["/atomlearn"]
CMD ["serve", "--demo", "--listen", "0.0.0.0:8642"]

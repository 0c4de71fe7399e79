//! The interface as an OpenAPI document, for programs that make clients and tests from it.

use crate::Config;
use crate::route::{Address, Route};
use crate::subject::Subject;
use atomlearn::io::{ColumnKind, FeatureColumn, TableSchema};
use serde_json::{Map, Value, json};

/// The document for these models and limits. The first model is there without its name too; where there are several, so are all
/// with it.
pub fn document(subjects: &[&Subject], config: &Config) -> Value {
    let mut paths = Map::new();
    let mut schemas = common_schemas();
    let first = subjects.first().map(|&subject| (None, subject));
    let named = subjects.iter().filter(|_| subjects.len() > 1).map(|&subject| (Some(&subject.name[..]), subject));
    for (model, subject) in first.into_iter().chain(named) {
        let names = Names { model };
        let own = Route::SERVICES.into_iter().chain(Route::of("/"));
        for route in own.filter(|route| model.is_none() || route.is_of_a_model()) {
            paths.insert(Address { route, model }.path(), path(route, subject, names));
        }
        schemas.extend(own_schemas(subject, config, names));
    }
    let title = subjects.iter().map(|subject| &subject.name[..]).collect::<Vec<_>>().join(", ");
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": format!("{title}, served by atomlearn"),
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Labels of samples, and why they get them.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        // Relative: whatever name and port the server was reached by.
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {"schemas": schemas},
    })
}

/// What operations and schemas of a model are called.
#[derive(Clone, Copy)]
struct Names<'a> {
    model: Option<&'a str>,
}

impl Names<'_> {
    fn own(self, name: &str) -> String {
        self.model.map_or(name.into(), |model| format!("{name}.{model}"))
    }

    fn reference(self, name: &str) -> Value {
        reference(&self.own(name))
    }
}

/// All methods of a route.
fn path(route: Route, subject: &Subject, names: Names<'_>) -> Value {
    match route {
        Route::Predict => json!({"post": sends_samples(
            "predict", "Labels, scores and probabilities", predict_parameters(subject), "Prediction", subject, names,
        )}),
        Route::Explain => json!({"post": sends_samples(
            "explain",
            "Why one sample gets its label",
            explain_parameters(),
            "Explanation",
            subject,
            names,
        )}),
        Route::Model => asks(&names.own("model"), "What is served", "application/json", names.reference("Model")),
        Route::Models => asks("models", "The names of all models", "application/json", reference("Models")),
        Route::Health => asks("health", "Whether the server lives", "application/json", reference("Health")),
        Route::Metrics => {
            asks("metrics", "Counters in Prometheus' text format", "text/plain", json!({"type": "string"}))
        }
        Route::OpenApi => asks("openapi", "This document", "application/json", json!({"type": "object"})),
        Route::File(_) => {
            let about = "A page that shows how the model decides";
            asks(&names.own("page"), about, "text/html", json!({"type": "string"}))
        }
    }
}

fn truth(default: &str) -> Value {
    json!({"enum": ["true", "false", "1", "0", ""], "default": default})
}

/// What the address of `/explain` may ask for.
fn explain_parameters() -> Vec<Value> {
    vec![
        parameter(
            "row",
            "Which of the samples, counted from 0",
            json!({"type": "integer", "minimum": 0, "default": 0}),
        ),
        parameter(
            "regions",
            "Whether the answer says what every region of a photo speaks for; only for photos",
            truth("false"),
        ),
    ]
}

/// What the address of `/predict` may ask for.
fn predict_parameters(subject: &Subject) -> Vec<Value> {
    let mut parameters = vec![
        parameter("scores", "Whether the answer holds scores", truth("true")),
        parameter("proba", "Whether the answer holds probabilities, if the model has them", truth("true")),
        parameter("outlier", "Whether the answer holds p-values of outliers, if the model has them", truth("false")),
        parameter("top_k", "How many of the most likely classes to list", json!({"type": "integer", "minimum": 1})),
    ];
    if subject.has_probabilities() {
        let about = "Samples whose most probable class is less probable get no label";
        parameters.push(parameter("min_probability", about, json!({"type": "number", "minimum": 0, "maximum": 1})));
    }
    parameters
}

fn parameter(name: &str, about: &str, schema: Value) -> Value {
    json!({"name": name, "in": "query", "description": about, "schema": schema})
}

/// `GET` and `HEAD` of something that is there already.
fn asks(name: &str, summary: &str, content_type: &str, schema: Value) -> Value {
    let mut content = Map::new();
    content.insert(content_type.into(), json!({"schema": schema}));
    let refused = |mut responses: Value| {
        refusals(&mut responses, &[400, 403]);
        responses
    };
    let (found, head) = (json!({"description": summary, "content": content}), json!({"description": summary}));
    json!({
        "get": {"operationId": name, "summary": summary, "responses": refused(json!({"200": found}))},
        "head": {
            "operationId": format!("{name}Head"), "summary": format!("{summary}; the head only"),
            "responses": {"200": head, "400": {"description": reason(400)}, "403": {"description": reason(403)}},
        },
    })
}

/// A `POST` of samples.
fn sends_samples(
    name: &str,
    summary: &str,
    parameters: Vec<Value>,
    answer: &str,
    subject: &Subject,
    names: Names<'_>,
) -> Value {
    let binary = |what: &str| json!({"schema": {"type": "string", "format": "binary", "description": what}});
    let mut content = json!({
        "application/json": {"schema": names.reference("Samples")},
        "text/csv": {"schema": {"type": "string", "description": columns_of_tables(subject)}},
        "application/x-npy": binary("An array as numpy.save writes it, samples in rows"),
        "application/octet-stream": binary("An array as numpy.save writes it, samples in rows"),
    });
    if subject.images.is_some() {
        content["image/*"] = binary("An image file: one sample");
    }
    let mut responses =
        json!({"200": {"description": summary, "content": {"application/json": {"schema": names.reference(answer)}}}});
    refusals(&mut responses, &[400, 403, 408, 413, 415, 500, 503]);
    json!({
        "operationId": names.own(name), "summary": summary, "parameters": parameters,
        "requestBody": {"required": true, "content": content}, "responses": responses,
    })
}

fn refusals(responses: &mut Value, statuses: &[u16]) {
    for status in statuses {
        let content = json!({"application/json": {"schema": reference("Error")}});
        responses[status.to_string()] = json!({"description": reason(*status), "content": content});
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        400 => "The request cannot be used; the answer says what is wrong, where, and what to do",
        403 => "A name the server does not answer to, or a page of another origin",
        408 => "The request took too long",
        413 => "The body is too large, or holds too many samples",
        415 => "The content type cannot be read",
        503 => "The server has too much to do; try again",
        _ => "The server broke down",
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// An object of these properties, all required but those in `optional`, and no others.
fn object(properties: Value, optional: &[&str]) -> Value {
    let names = properties.as_object().into_iter().flat_map(Map::keys);
    let required: Vec<&String> = names.filter(|name| !optional.contains(&name.as_str())).collect();
    json!({"type": "object", "required": required, "additionalProperties": false, "properties": properties})
}

/// A sample whose values have names; names that the model does not know are ignored.
fn named_sample(table: &TableSchema) -> Value {
    let value = |feature: &FeatureColumn| {
        // Numbers may come as text, as in tables.
        let mut types = vec!["number", "string"];
        types.extend((feature.kind != ColumnKind::Number).then_some("boolean"));
        types.extend(feature.fill.is_some().then_some("null"));
        (feature.name.clone(), json!({"type": types}))
    };
    let properties: Map<String, Value> = table.features.iter().map(value).collect();
    json!({"type": "object", "required": table.column_names(), "properties": properties})
}

fn columns_of_tables(subject: &Subject) -> &'static str {
    if subject.table.header {
        "A table with one sample a row; with a header its columns are found by name, without one by place"
    } else {
        "A table with one sample a row; its columns are in the order of the model's features"
    }
}

/// Schemas that do not depend on a model.
fn common_schemas() -> Map<String, Value> {
    let text = json!({"type": "string"});
    let model = object(json!({"name": text, "method": text, "path": text}), &[]);
    let schemas = json!({
        "Models": object(json!({
            "schema": {"const": "atomlearn.serve-models/1"}, "models": {"type": "array", "items": model, "minItems": 1},
        }), &[]),
        "Health": object(json!({"status": {"const": "ok"}}), &[]),
        "Error": object(json!({"error": {"type": "string", "description": "What is wrong, where, what to do"}}), &[]),
    });
    schemas.as_object().cloned().unwrap_or_default()
}

fn own_schemas(subject: &Subject, config: &Config, names: Names<'_>) -> Map<String, Value> {
    let (features, classes) = (subject.model.prep().n_features(), subject.model.classes());
    let text = json!({"type": "string"});
    let number = json!({"type": "number"});
    let count = json!({"type": "integer", "minimum": 0});
    let share = json!({"type": "number", "minimum": 0, "maximum": 1});
    let perhaps = |kind: &str| json!({"type": [kind, "null"]});
    let list = |items: &Value| json!({"type": "array", "items": items});
    let score = json!({"type": ["number", "null"], "description": "Larger is more likely; null is minus infinity"});
    let per_class =
        |of: &Value| json!({"type": "array", "items": of, "minItems": classes.len(), "maxItems": classes.len()});
    let scores = per_class(&score);
    let label = json!({"type": "string", "enum": classes});
    let withheld: Vec<Option<&str>> = classes.iter().map(|class| Some(&class[..])).chain([None]).collect();
    let label_or_none = json!({"enum": withheld, "description": "null if no class is probable enough"});
    let ranked = object(json!({"label": label, "score": score, "proba": share}), &["proba"]);
    let row = json!({"type": "array", "items": number, "minItems": features, "maxItems": features});
    // More than so many are refused for their number (413), not because they were no samples (400): that is no matter of the schema.
    let number_of_them = format!("At most {} samples; more are answered with 413", config.max_samples);
    let rows = json!({"type": "array", "items": row, "minItems": 1, "description": number_of_them});
    let mut forms = vec![rows, row];
    if subject.table.header {
        let sample = named_sample(&subject.table);
        forms.push(json!({"type": "array", "items": sample, "minItems": 1, "description": number_of_them}));
        forms.push(sample);
    }
    // A column called `rows` is a value of an object.
    if !subject.table.header || !subject.table.column_names().contains(&"rows") {
        forms.push(object(json!({"rows": {"anyOf": forms}}), &[]));
    }
    let notes = json!({"type": "array", "items": text, "description": "What was noticed about the samples"});
    let picture = json!({"type": "string", "contentEncoding": "base64", "description": "One byte a value"});
    let schema = |name: &str| json!({"const": name});
    let schemas = json!({
        "Samples": {
            "description": "Rows of numbers, one row a sample; or the numbers of one sample alone; or objects, if features have names",
            "anyOf": forms,
        },
        "Prediction": object(json!({
            "schema": schema("atomlearn.predict/1"),
            "model": object(json!({"name": text, "method": text, "rule": text}), &[]),
            "classes": list(&label),
            "labels": list(&label_or_none),
            "scores": list(&scores),
            "proba": list(&per_class(&share)),
            "top": list(&list(&ranked)),
            "reasons": {"type": "array", "items": perhaps("string"), "description": "Why a sample has no label"},
            "outlier_p": {"type": "array", "items": share, "description": "Small if a sample is unlike all of training"},
            "notes": notes,
        }), &["scores", "proba", "top", "reasons", "outlier_p", "notes"]),
        "Explanation": object(json!({
            "schema": schema("atomlearn.explain/1"),
            "label": label,
            "rule": text,
            "classes": list(&label),
            "scores": {"type": "object", "additionalProperties": scores, "description": "By rule"},
            "eta2": perhaps("number"),
            "row": count,
            "rows": count,
            "picture": {"type": ["array", "null"], "items": count, "minItems": 2, "maxItems": 2},
            "sample": picture,
            "kind": perhaps("string"),
            "raw": {"type": "boolean"},
            "proba": {"anyOf": [per_class(&share), {"type": "null"}]},
            "outlier_p": {"anyOf": [share, {"type": "null"}]},
            "atoms": list(&names.reference("Atom")),
            "class_shares": per_class(&share),
            "regions": names.reference("Regions"),
            "notes": notes,
        }), &["class_shares", "regions", "notes"]),
        "Regions": object(json!({
            "rows": count, "cols": count, "against": perhaps("string"),
            "lead": perhaps("number"), "leads": {"type": "array", "items": perhaps("number")},
            "proba": {"anyOf": [share, {"type": "null"}]}, "probas": {"anyOf": [list(&share), {"type": "null"}]},
        }), &[]),
        "Atom": object(json!({
            "atom": count, "class": perhaps("string"), "code": number, "share": number, "bytes": picture,
            "neighbours": list(&object(
                json!({"atom": count, "class": perhaps("string"), "weight": number, "bytes": picture}), &[],
            )),
        }), &[]),
        "Model": object(json!({
            "schema": schema("atomlearn.serve-model/1"),
            "version": text, "name": text, "method": text, "title": text, "paper": perhaps("string"), "prep": text,
            "params": {"type": "object"}, "n_features": {"const": features},
            "columns": {"type": ["array", "null"], "items": text}, "classes": {"const": classes},
            "rules": list(&text), "rule": text, "atoms": perhaps("integer"), "image": perhaps("object"),
            "range": {"type": ["array", "null"], "items": number}, "trained_on": {}, "time": perhaps("string"),
            "estimate": perhaps("object"), "findings": {"type": ["array", "null"]}, "examples": perhaps("object"),
            "photos": perhaps("object"),
            "probabilities": {"type": "boolean"}, "outliers": {"type": "boolean"},
        }), &[]),
    });
    let schemas = schemas.as_object().cloned().unwrap_or_default();
    schemas.into_iter().map(|(name, schema)| (names.own(&name), schema)).collect()
}

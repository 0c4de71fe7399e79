"""Pages of methods that `nav` in mkdocs.yml does not name are added to it, so that a new method needs no line there."""

from pathlib import Path


def on_config(config):
    named = set()

    def collect(entry):
        if isinstance(entry, str):
            named.add(entry)
        else:
            for part in entry.values() if isinstance(entry, dict) else entry:
                collect(part)

    collect(config.nav)
    methods = next(entry["Methods"] for entry in config.nav if "Methods" in entry)
    for page in sorted(Path(config.docs_dir, "methods").glob("*.md")):
        if f"methods/{page.name}" not in named:
            methods.append(f"methods/{page.name}")
    return config

#!/usr/bin/env bash
# `drainq schema` judged by a validator that nobody here wrote: it admits every configuration that drainq admits, and
# refuses the mistakes that an editor is to underline. Prints `ok …` or `not ok …`, a line for each test.
source "$(dirname "${BASH_SOURCE[0]}")/documents.bash"

cat >"$work/validate.py" <<'END_OF_FILE'
"""validate.py SCHEMA FILE…: prints what the schema has against each JSON5 file; status 1 if that is anything."""
import json, json5, jsonschema, sys

schema = json.load(open(sys.argv[1]))
jsonschema.Draft7Validator.check_schema(schema)
validator, wrong = jsonschema.Draft7Validator(schema), 0
for name in sys.argv[2:]:
    for error in validator.iter_errors(json5.load(open(name))):
        print(f"{name}: {'.'.join(map(str, error.absolute_path))}: {error.message}")
        wrong = 1
sys.exit(wrong)
END_OF_FILE
validate() { /usr/bin/python3 -W ignore "$work/validate.py" "$work/schema" "$@"; }

"$binary" schema >"$work/schema"

test_that "it is a JSON Schema of draft 7" validate
test_that "it admits every example" validate etc/drainq/examples/*.json5

admits_the_manuals() {
    local display number=0
    while IFS= read -r -d $'\f' display; do
        [[ $display == $'{\n'* ]] || continue
        number=$((number + 1))
        printf %s "$display" >"$work/manual.$number"
    done < <(displays drainq-config.5)
    ((number >= 10)) || { echo "only $number examples"; return 1; }
    validate "$work"/manual.[0-9]*
}
test_that "it admits every example of drainq-config(5)" admits_the_manuals

# `drainq init` writes each key behind //: here none is a comment.
admits_every_key() {
    "$binary" init -q "$work/queue" 2>/dev/null
    sed -E 's#^( *)// ( *([$a-zA-Z]+: |\},?$))#\1\2#' "$work/queue/drainq.json" >"$work/keys"
    (($(grep -cE '^ *[$a-zA-Z]+: ' "$work/keys") > 40)) || { cat "$work/keys"; return 1; }
    validate "$work/keys"
}
test_that "it admits every key of a new configuration" admits_every_key

# refuses NAME CONFIGURATION: so does drainq itself.
refuses() {
    echo "$2" >"$work/queue/drainq.json"
    ends 78 "$binary" check -q "$work/queue"
    ends 1 validate "$work/queue/drainq.json"
}
while IFS=$'\t' read -r name text; do
    test_that "it refuses $name, as drainq does" refuses "$name" "$text"
done <<'END_OF_TABLE'
an unknown key	{ route: {} }
an unknown key of a route	{ routes: { default: { url: "https://a.example", timeout: "5s" } } }
a word that is none	{ routes: { default: { url: "https://a.example", ordering: "keys" } } }
a word for a truth	{ routes: { default: { url: "https://a.example", coalesce: "yes" } } }
a batch without max	{ routes: { default: { url: "https://a.example", batch: { format: "ndjson" } } } }
a rule without is	{ routes: { default: { url: "https://a.example", answers: [{ status: 409 }] } } }
a count out of its range	{ destinations: { "https://a.example": { concurrency: 0 } } }
a list for one text	{ routes: { default: { url: ["https://a.example"] } } }
a schedule that is none	{ routes: { default: { url: "https://a.example", retry: "fast" } } }
an outcome that is none	{ routes: { default: { url: "https://a.example", classify: { "404": "skip" } } } }
a rule for answers without a shape	{ routes: { default: { url: "https://a.example", answers: { status: 409 } } } }
a key of no rule	{ routes: { default: { url: "https://a.example", answers: [{ statuss: 409, is: "defer" }] } } }
a rule whose outcome is none	{ routes: { default: { url: "https://a.example", answers: [{ status: 409, is: "retry" }] } } }
a command in one word	{ hooks: { failed: "mail" } }
an empty list	{ routes: { default: { url: "https://a.example", retry: { schedule: [] } } } }
a version that is not there yet	{ version: 2 }
END_OF_TABLE

exit "$failed"

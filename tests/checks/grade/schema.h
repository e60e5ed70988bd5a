/* A strict validator of the part of JSON Schema that results.schema.json is written in: a word that it does not know is
 * an error of the schema, never passed over. */
#ifndef TANDEM_TESTS_SCHEMA_H
#define TANDEM_TESTS_SCHEMA_H

#ifdef TD_HAVE_JANSSON
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static inline int schema_is_of_type(const json_t *value, const char *type) {
    static const char *const names[] = {"object", "array", "string", "number", "number", "boolean", "boolean", "null"};
    return !strcmp(names[json_typeof(value)], type);
}

static inline int schema_type_fits(const json_t *value, const json_t *type) {
    if (json_is_string(type)) return schema_is_of_type(value, json_string_value(type));
    for (size_t i = 0; i < json_array_size(type); i++)
        if (schema_is_of_type(value, json_string_value(json_array_get(type, i)))) return 1;
    return 0;
}

static inline int schema_is_one_of(const json_t *value, const json_t *all) {
    for (size_t i = 0; i < json_array_size(all); i++)
        if (json_equal(value, json_array_get(all, i))) return 1;
    return 0;
}

/* NULL, or what is wrong: "tests: minimum". */
static inline const char *schema_refuses(const json_t *root, const json_t *schema, const json_t *value) {
    static char said[200];
    const char *word, *wrong, *key;
    json_t *rule, *each;
    size_t i;
    json_object_foreach((json_t *)schema, word, rule) {
        int ok = 1;
        if (!strcmp(word, "$ref")) {
            const char *name = strrchr(json_string_value(rule), '/') + 1;
            wrong = schema_refuses(root, json_object_get(json_object_get(root, "definitions"), name), value);
            if (wrong) return wrong;
        } else if (!strcmp(word, "type")) {
            ok = schema_type_fits(value, rule);
        } else if (!strcmp(word, "enum")) {
            ok = schema_is_one_of(value, rule);
        } else if (!strcmp(word, "minimum")) {
            ok = json_number_value(value) >= json_number_value(rule);
        } else if (!strcmp(word, "required")) {
            json_array_foreach(rule, i, each) ok = ok && json_object_get(value, json_string_value(each));
        } else if (!strcmp(word, "additionalProperties")) {
            json_object_foreach((json_t *)value, key, each) ok =
                ok && json_object_get(json_object_get(schema, "properties"), key);
        } else if (!strcmp(word, "properties")) {
            json_object_foreach((json_t *)value, key, each) {
                const json_t *of = json_object_get(rule, key);
                if (of && (wrong = schema_refuses(root, of, each))) {
                    char inner[150];
                    snprintf(inner, sizeof inner, "%s", wrong);
                    snprintf(said, sizeof said, "%.40s: %s", key, inner);
                    return said;
                }
            }
        } else if (!strcmp(word, "items")) {
            json_array_foreach((json_t *)value, i, each) if ((wrong = schema_refuses(root, rule, each))) return wrong;
        } else if (strcmp(word, "$schema") != 0 && strcmp(word, "title") != 0 && strcmp(word, "definitions") != 0) {
            snprintf(said, sizeof said, "the schema's '%.40s' is not understood", word);
            return said;
        }
        if (ok) continue;
        snprintf(said, sizeof said, "%s", word);
        return said;
    }
    return NULL;
}

/* The file at `path` against the schema file; NULL, or what is wrong. */
static inline const char *schema_refuses_file(const char *schema_path, const char *path) {
    static char said[300];
    json_error_t where;
    json_t *schema = json_load_file(schema_path, JSON_REJECT_DUPLICATES, &where);
    json_t *value = schema ? json_load_file(path, JSON_REJECT_DUPLICATES, &where) : NULL;
    const char *wrong = value ? schema_refuses(schema, schema, value) : where.text;
    snprintf(said, sizeof said, "%s", wrong ? wrong : "");
    json_decref(schema), json_decref(value);
    return wrong ? said : NULL;
}
#endif

#endif

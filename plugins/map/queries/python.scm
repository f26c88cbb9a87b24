; Additions to tags.scm of the grammar's package. Of two definitions with one name node the later pattern counts;
; a definition counts before a reference, and @use makes a node a reference whatever else matches. A reference
; without @name is the name.

(class_definition body: (block (function_definition name: (identifier) @name) @definition.method))
(class_definition body: (block (decorated_definition
  (function_definition name: (identifier) @name) @definition.method)))
(type_alias_statement left: (type (identifier) @name)) @definition.type

(class_definition superclasses: (argument_list (identifier) @reference.class))
(type (identifier) @reference.type)
(subscript value: (identifier) @reference.value)
(subscript subscript: (identifier) @reference.value)
(decorator [(identifier) @name (attribute attribute: (identifier) @name)] @reference.call)
(import_from_statement name: (dotted_name (identifier) @reference.import))
(import_from_statement name: (aliased_import name: (dotted_name (identifier) @reference.import)))
(argument_list (identifier) @reference.value)
(keyword_argument value: (identifier) @reference.value)
(assignment right: (identifier) @reference.value)
(return_statement (identifier) @reference.value)
(comparison_operator (identifier) @reference.value)
(binary_operator (identifier) @reference.value)
(pair value: (identifier) @reference.value)
(list (identifier) @reference.value)
(attribute object: (identifier) @reference.value)

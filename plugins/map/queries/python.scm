; Additions to tags.scm of the grammar's package. Of two definitions with one name node the later pattern counts;
; a definition counts before a reference, and @use makes a node a reference whatever else matches.

(class_definition body: (block (function_definition name: (identifier) @name) @definition.method))
(class_definition body: (block (decorated_definition
  (function_definition name: (identifier) @name) @definition.method)))
(type_alias_statement left: (type (identifier) @name)) @definition.type

(class_definition superclasses: (argument_list (identifier) @name @reference.class))
(type (identifier) @name @reference.type)
(subscript value: (identifier) @name @reference.value)
(subscript subscript: (identifier) @name @reference.value)
(decorator [(identifier) @name (attribute attribute: (identifier) @name)] @reference.call)
(import_from_statement name: (dotted_name (identifier) @name @reference.import))
(import_from_statement name: (aliased_import name: (dotted_name (identifier) @name @reference.import)))
(argument_list (identifier) @name @reference.value)
(keyword_argument value: (identifier) @name @reference.value)
(assignment right: (identifier) @name @reference.value)
(return_statement (identifier) @name @reference.value)
(comparison_operator (identifier) @name @reference.value)
(binary_operator (identifier) @name @reference.value)
(pair value: (identifier) @name @reference.value)
(list (identifier) @name @reference.value)
(attribute object: (identifier) @name @reference.value)

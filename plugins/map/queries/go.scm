; Additions to tags.scm of the grammar's package. Of two definitions with one name node the later pattern counts;
; a definition counts before a reference, and @use makes a node a reference whatever else matches. A reference
; without @name is the name.

(source_file (const_declaration (const_spec name: (identifier) @name) @definition.constant))
(source_file (var_declaration (var_spec name: (identifier) @name) @definition.constant))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @definition.constant)))
(type_declaration (type_alias name: (type_identifier) @name) @definition.type)
(type_declaration (type_spec name: (type_identifier) @name type: (struct_type)) @definition.class)
(type_declaration (type_spec name: (type_identifier) @name type: (interface_type)) @definition.interface)
(method_declaration receiver: (parameter_list (parameter_declaration type: (_) @owner))
  name: (field_identifier) @name) @definition.method
(method_elem name: (field_identifier) @name) @definition.method

(argument_list (identifier) @reference.value)
(literal_value (keyed_element (literal_element (identifier) @reference.value)))
(selector_expression field: (field_identifier) @reference.value)
(expression_list (identifier) @reference.value)
(binary_expression (identifier) @reference.value)
(unary_expression operand: (identifier) @reference.value)

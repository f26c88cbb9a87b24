; The package of this grammar has no tags.scm: this file is the whole query.

(function_definition name: (word) @name) @definition.function
(program (variable_assignment name: (variable_name) @name) @definition.constant)
(program (declaration_command (variable_assignment name: (variable_name) @name)) @definition.constant)

(command name: (command_name (word) @name) @reference.call)
(simple_expansion (variable_name) @reference.value)
(expansion (variable_name) @reference.value)

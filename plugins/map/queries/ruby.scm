; Additions to tags.scm of the grammar's package. Of two definitions with one name node the later pattern counts;
; a definition counts before a reference, and @use makes a node a reference whatever else matches. A reference
; without @name is the name.

(assignment left: (constant) @name) @definition.constant
(singleton_class value: (self) @name) @use
(superclass (constant) @reference.class)
(scope_resolution name: (constant) @reference.class)

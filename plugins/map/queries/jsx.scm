; Elements of JSX, which tags.scm of JavaScript leaves out.

(jsx_opening_element name: (identifier) @reference.call)
(jsx_self_closing_element name: (identifier) @reference.call)
(jsx_expression (identifier) @reference.value)

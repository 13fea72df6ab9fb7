import { parseSync, Visitor } from 'oxc-parser';

/**
 * The specifiers that a source imports, in order of appearance: import and export-from, with and without `type`,
 * `import('…')` as an expression and as a type. A dynamic import of something that is not a literal is not seen.
 */
export function importsOf(file: string, source: string): string[] {
  const { program, errors } = parseSync(file, source);
  const [fatal] = errors;
  if (fatal) throw new SyntaxError(`${file}: ${fatal.message}`);

  const specifiers: string[] = [];
  const add = (node: { type: string } | null) => {
    if (node && 'value' in node && typeof node.value === 'string') specifiers.push(node.value);
  };
  new Visitor({
    ImportDeclaration: (node) => add(node.source),
    ExportNamedDeclaration: (node) => add(node.source),
    ExportAllDeclaration: (node) => add(node.source),
    ImportExpression: (node) => add(node.source),
    TSImportType: (node) => add(node.source),
  }).visit(program);
  return specifiers;
}

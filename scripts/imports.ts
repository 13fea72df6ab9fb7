import { parseSync, Visitor } from 'oxc-parser';

/**
 * The specifiers that a source imports, in order of appearance: import and export-from, with and without `type`,
 * `import('…')` as an expression and as a type. Dynamic imports of computed specifiers are not found.
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

/** The names that a source declares and exports; re-exports do not count. */
export function exportedNames(file: string, source: string): string[] {
  const names: string[] = [];
  new Visitor({
    ExportNamedDeclaration({ declaration }) {
      if (!declaration) return;
      const ids =
        'declarations' in declaration
          ? declaration.declarations.map(({ id }) => id)
          : [declaration.id];
      for (const id of ids) if (id && 'name' in id) names.push(id.name);
    },
  }).visit(parseSync(file, source).program);
  return [...new Set(names)];
}

import { parseSync, Visitor } from 'oxc-parser';

/**
 * Returns the specifiers that a source file imports, in order of appearance. Finds `import` and `export … from`, with
 * and without `type`, and `import('…')` as an expression and as a type. Does not find dynamic imports of computed
 * specifiers.
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

/** Returns the specifiers that are loaded together with a source file: no `import type`, `export type` or `import('…')`. */
export function staticImportsOf(file: string, source: string): string[] {
  return parseSync(file, source).program.body.flatMap((node) => {
    if (node.type === 'ImportDeclaration') {
      return node.importKind === 'type' ? [] : [node.source.value];
    }
    if (node.type !== 'ExportNamedDeclaration' && node.type !== 'ExportAllDeclaration') return [];
    return node.exportKind === 'type' || !node.source ? [] : [node.source.value];
  });
}

/** Returns the names that a source file declares and exports. Re-exports are not included. */
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

/** Reads emitted declaration files: what an entry point exports, and which names its signatures mention. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync, Visitor, type Program } from 'oxc-parser';

/** Where a name is declared: `FILE#NAME`, or the import's specifier for another package. */
export type Declaration = string;

interface Module {
  readonly file: string;
  readonly source: string;
  readonly program: Program;
  /** Top-level declarations, with overloads and merged declarations, by name. */
  readonly declared: Map<string, Program['body'][number][]>;
  /** Local name → module and the name there; `*` is a namespace. */
  readonly imported: Map<string, readonly [specifier: string, name: string]>;
  /** Exported name → local name, or module and the name there. */
  readonly exported: Map<string, string | readonly [specifier: string, name: string]>;
  readonly stars: string[];
  readonly comments: readonly {
    readonly start: number;
    readonly end: number;
    readonly value: string;
  }[];
}

const modules = new Map<string, Module>();

function nameOf(node: { name: string } | { value: string }): string {
  return 'name' in node ? node.name : node.value;
}

function load(file: string): Module {
  const known = modules.get(file);
  if (known) return known;
  const source = readFileSync(file, 'utf8');
  const { program, comments } = parseSync(file, source);
  const module: Module = {
    file,
    source,
    program,
    declared: new Map(),
    imported: new Map(),
    exported: new Map(),
    stars: [],
    comments: comments.filter(({ type }) => type === 'Block'),
  };
  modules.set(file, module);
  for (const statement of program.body) {
    if (statement.type === 'ImportDeclaration') {
      for (const each of statement.specifiers) {
        const name = each.type === 'ImportSpecifier' ? nameOf(each.imported) : '*';
        module.imported.set(each.local.name, [statement.source.value, name]);
      }
    } else if (statement.type === 'ExportAllDeclaration') {
      const { exported, source: from } = statement;
      if (exported) module.exported.set(nameOf(exported), [from.value, '*']);
      else module.stars.push(from.value);
    } else if (statement.type === 'ExportNamedDeclaration') {
      for (const { local, exported } of statement.specifiers) {
        const { source: from } = statement;
        module.exported.set(nameOf(exported), from ? [from.value, nameOf(local)] : nameOf(local));
      }
      for (const name of declaredBy(statement.declaration)) {
        module.exported.set(name, name);
        module.declared.set(name, [...(module.declared.get(name) ?? []), statement]);
      }
    } else {
      for (const name of declaredBy(statement)) {
        module.declared.set(name, [...(module.declared.get(name) ?? []), statement]);
      }
    }
  }
  return module;
}

function declaredBy(node: object | null): string[] {
  if (!node) return [];
  if ('declarations' in node && Array.isArray(node.declarations)) {
    return node.declarations.flatMap(({ id }) => ('name' in id ? [String(id.name)] : []));
  }
  const id = 'id' in node ? node.id : undefined;
  return typeof id === 'object' && id && 'name' in id ? [String(id.name)] : [];
}

function fileOf(from: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  return path.resolve(path.dirname(from), specifier.replace(/\.ts$/, '.d.ts'));
}

/** Follows re-exports to the declaration of an exported name. */
function resolveExport(module: Module, name: string): Declaration | undefined {
  const target = module.exported.get(name);
  if (typeof target === 'string') return resolveLocal(module, target);
  if (target) return resolveImport(module, ...target);
  for (const specifier of module.stars) {
    const file = fileOf(module.file, specifier);
    const found = file && resolveExport(load(file), name);
    if (found) return found;
  }
  return undefined;
}

function resolveImport(module: Module, specifier: string, name: string): Declaration | undefined {
  const file = fileOf(module.file, specifier);
  if (!file) return specifier;
  return name === '*' ? file : resolveExport(load(file), name);
}

/** Returns the declaration of a name inside a module, or undefined for a global. */
function resolveLocal(module: Module, name: string): Declaration | undefined {
  const imported = module.imported.get(name);
  if (imported) return resolveImport(module, ...imported);
  return module.declared.has(name) ? `${module.file}#${name}` : undefined;
}

/** Returns the names that an entry point exports, with their declarations. That of a namespace is a file. */
export function exportsOf(entry: string): Map<string, Declaration> {
  const module = load(entry);
  const names = new Set(module.exported.keys());
  const found = new Map<string, Declaration>();
  for (const specifier of module.stars) {
    const file = fileOf(entry, specifier);
    if (file) for (const [name, declaration] of exportsOf(file)) found.set(name, declaration);
  }
  for (const name of names) found.set(name, resolveExport(module, name) ?? `${entry}#${name}`);
  return found;
}

function statementsOf(declaration: Declaration): { module: Module; nodes: Program['body'] } {
  const [file = '', name = ''] = declaration.split('#');
  const module = load(file);
  return { module, nodes: module.declared.get(name) ?? [] };
}

/** Returns the declarations that a signature mentions: its types, their arguments, and what it extends. */
export function mentionedBy(declaration: Declaration): Map<string, Declaration> {
  const { module, nodes } = statementsOf(declaration);
  /** The mentioned names. For a namespace, with the member that is mentioned. */
  const names = new Map<string, string | undefined>();
  const parameters = new Set<string>();
  const add = (node: object, member?: string): void => {
    if ('type' in node && node.type === 'Identifier' && 'name' in node) {
      names.set(String(node.name), member);
      return;
    }
    const right = 'right' in node ? node.right : 'property' in node ? node.property : undefined;
    const name = right && typeof right === 'object' && 'name' in right ? right.name : undefined;
    const left = 'left' in node ? node.left : 'object' in node ? node.object : undefined;
    if (left && typeof left === 'object') add(left, String(name));
  };
  const visitor = new Visitor({
    TSTypeParameter: ({ name }) => void parameters.add(name.name),
    TSTypeReference: ({ typeName }) => add(typeName),
    TSTypeQuery: ({ exprName }) => add(exprName),
    TSInterfaceHeritage: ({ expression }) => add(expression),
    TSClassImplements: ({ expression }) => add(expression),
    ClassDeclaration: ({ superClass }) => superClass && add(superClass),
  });
  for (const node of nodes) visitor.visit({ ...module.program, body: [node] });
  const found = new Map<string, Declaration>();
  for (const [name, member] of names) {
    const target = parameters.has(name) ? undefined : resolveLocal(module, name);
    if (!target?.includes('.d.ts')) continue;
    const isNamespace = !target.includes('#') && member !== undefined;
    const meant = isNamespace ? resolveExport(load(target), member) : target;
    if (meant) found.set(member ?? name, meant);
  }
  return found;
}

/** Returns the doc comment of a declaration, or undefined if it has none. */
export function commentOf(declaration: Declaration): string | undefined {
  const { module, nodes } = statementsOf(declaration);
  for (const node of nodes) {
    const comment = module.comments.findLast(({ end }) => end <= node.start);
    const between = comment && module.source.slice(comment.end, node.start).trim();
    if (comment?.value.startsWith('*') && between === '') return comment.value;
  }
  return undefined;
}

/** Returns the text of a declaration without its comments. */
export function signatureOf(declaration: Declaration): string {
  const { module, nodes } = statementsOf(declaration);
  return nodes
    .map(({ start, end }) => {
      let text = '';
      let at = start;
      for (const comment of module.comments) {
        if (comment.start < start || comment.end > end) continue;
        text += module.source.slice(at, comment.start);
        at = comment.end;
      }
      return (text + module.source.slice(at, end)).replaceAll(/^\s*\n/gm, '');
    })
    .join('\n');
}

/** Returns the sources of the library's entry points, relative to the root, by the subpath in package.json. */
export function entryPoints(root: string): Map<string, string> {
  const manifest: { exports: Record<string, string | Record<string, string>> } = JSON.parse(
    readFileSync(path.join(root, 'package.json'), 'utf8'),
  );
  const sources = new Map<string, string>();
  for (const [entry, target] of Object.entries(manifest.exports)) {
    const source = typeof target === 'string' ? undefined : target['parley-source'];
    if (source !== undefined) sources.set(entry, source);
  }
  return sources;
}

/** Emits the declaration files of entry points into a folder in the root, as the build does, and reads their exports. */
export function emittedSurface(
  root: string,
  emitted: string,
  sources: ReadonlyMap<string, string>,
): Map<string, Map<string, Declaration>> {
  const config = path.join(emitted, 'tsconfig.json');
  // The root is the repository, because the source of the store contract is in test/.
  const compilerOptions = { rootDir: '..', outDir: '.', emitDeclarationOnly: true };
  const files = [...sources.values()].map((source) => path.posix.join('..', source));
  const extend = '../tsconfig.build.json';
  writeFileSync(config, JSON.stringify({ extends: extend, compilerOptions, files, include: [] }));
  execFileSync(path.join(root, 'node_modules/.bin/tsc'), ['--project', config]);
  const surface = new Map<string, Map<string, Declaration>>();
  for (const [entry, source] of sources) {
    surface.set(entry, exportsOf(path.join(emitted, source.replace(/\.ts$/, '.d.ts'))));
  }
  return surface;
}

/**
 * Merges small chunks of an esbuild bundle into other chunks. esbuild makes a chunk for each set of entry points that
 * share some modules, so a program with many lazy imports gets many small chunks. Finding and opening a file takes
 * longer than running a small one: `parley serve` would load 50 files until it is ready.
 *
 * Merging must not load anything early except the small chunk itself. So a chunk is merged into a host only if the host
 * is loaded whenever the small chunk is, and everything that the small chunk imports is loaded whenever the host is.
 * Entry points are never hosts: the exports of the small chunk would appear in the result of `import()`, and a top-level
 * `await` in the entry point would delay everybody who needs the small chunk. A shared chunk must not have a top-level
 * `await` either.
 */
import path from 'node:path';
import { build, type BuildOptions, type Metafile, type Plugin } from 'esbuild';

/** Maximum size of a chunk that is merged, in bytes. A larger one would delay commands that do not need it. */
const SMALL_BYTES = 4000;

/** A key of `outputs` in a metafile: a path relative to the working directory, with slashes. */
type Output = string;

/** For each output, the output that it is merged into, or itself. */
type Hosts = ReadonlyMap<Output, Output>;

interface MergeOptions {
  /** The folder with the bundle, and the folder for the result. */
  readonly from: string;
  readonly to: string;
  /** The first entry point, which is loaded before all others. */
  readonly first: string;
  readonly options: BuildOptions;
}

/** Writes the bundle again, with fewer chunks. The entry points keep their names. */
export async function mergeChunks(bundle: Metafile, merge: MergeOptions): Promise<void> {
  const { from, to, first, options } = merge;
  const outputs = bundle.outputs;
  const hosts = hostsOf(outputs, outputOf(path.join(from, first)));
  const names = new Set(hosts.values());
  await build({
    ...options,
    entryPoints: Object.fromEntries(
      [...names].map((name) => [path.relative(from, name).slice(0, -'.js'.length), name]),
    ),
    outdir: to,
    splitting: false,
    metafile: false,
    banner: {},
    plugins: [mergePlugin(outputs, hosts)],
  });
}

function outputOf(file: string): Output {
  return path.relative('', file).replaceAll(path.sep, '/');
}

function hostsOf(outputs: Metafile['outputs'], first: Output): Hosts {
  if (!outputs[first]) throw new Error(`the bundle has no ${first}`);
  const graph = new ChunkGraph(outputs, first);
  const small = Object.keys(outputs)
    .filter((name) => !graph.isEntry(name) && outputs[name]!.bytes <= SMALL_BYTES)
    .toSorted((a, b) => outputs[a]!.bytes - outputs[b]!.bytes || (a < b ? -1 : 1));
  for (const name of small) {
    const host = graph.bestHostFor(name);
    if (host !== undefined) graph.merge(name, host);
  }
  return graph.hosts;
}

class ChunkGraph {
  readonly hosts = new Map<Output, Output>();
  readonly #outputs: Metafile['outputs'];
  readonly #first: Output;
  readonly #imports = new Map<Output, Set<Output>>();
  /** For each entry point, what is loaded after it was imported. */
  #loaded = new Map<Output, Set<Output>>();

  constructor(outputs: Metafile['outputs'], first: Output) {
    this.#outputs = outputs;
    this.#first = first;
    for (const [name, { imports }] of Object.entries(outputs)) {
      // Modules of Node count too: loading one may take longer than loading all chunks.
      const statically = imports.filter(({ kind }) => kind === 'import-statement');
      this.hosts.set(name, name);
      this.#imports.set(name, new Set(statically.map((each) => each.path)));
    }
    this.#load();
  }

  isEntry(name: Output): boolean {
    return this.#outputs[name]?.entryPoint !== undefined;
  }

  /** Returns the chunk into which this one is merged, or undefined. The one that the fewest entry points load is best. */
  bestHostFor(name: Output): Output | undefined {
    const users = this.#usersOf(name);
    const needed = this.#closure(name);
    let best: { readonly host: Output; readonly users: number } | undefined;
    for (const host of this.#imports.keys()) {
      if (host === name || this.isEntry(host)) continue;
      const others = this.#usersOf(host);
      if (best && best.users <= others.length) continue;
      const isLoaded = users.every((user) => others.includes(user));
      const isReady = others.every((user) => {
        const loaded = this.#loaded.get(user);
        return [...needed].every((each) => each === name || loaded?.has(each));
      });
      if (
        !isLoaded ||
        !isReady ||
        this.#importsIndirectly(name, host) ||
        this.#importsIndirectly(host, name)
      )
        continue;
      best = { host, users: others.length };
    }
    return best?.host;
  }

  merge(name: Output, host: Output): void {
    for (const [each, at] of this.hosts) if (at === name) this.hosts.set(each, host);
    const imports = new Set([...this.#importsOf(name), ...this.#importsOf(host)]);
    this.#imports.delete(name);
    this.#imports.set(host, imports);
    for (const [each, set] of this.#imports) {
      if (set.delete(name)) set.add(host);
      set.delete(each);
    }
    this.#load();
  }

  #importsOf(name: Output): Set<Output> {
    return this.#imports.get(name) ?? new Set();
  }

  /** Returns whether `from` imports `to` through another chunk. Merging the two would create a cycle with that chunk. */
  #importsIndirectly(from: Output, to: Output): boolean {
    return [...this.#importsOf(from)].some((each) => each !== to && this.#closure(each).has(to));
  }

  #usersOf(name: Output): Output[] {
    return [...this.#loaded].filter(([, loaded]) => loaded.has(name)).map(([entry]) => entry);
  }

  #load(): void {
    const always = this.#closure(this.#first);
    const entries = [...this.#imports.keys()].filter((name) => this.isEntry(name));
    this.#loaded = new Map(entries.map((each) => [each, this.#closure(each, new Set(always))]));
  }

  #closure(name: Output, found = new Set<Output>()): Set<Output> {
    if (found.has(name)) return found;
    found.add(name);
    for (const each of this.#importsOf(name)) this.#closure(each, found);
    return found;
  }
}

/**
 * Bundles each chunk with the chunks that are merged into it. Exports of these get a prefix. An import from a merged
 * chunk becomes an import with the prefix from its host.
 */
function mergePlugin(outputs: Metafile['outputs'], hosts: Hosts): Plugin {
  const order = new Map(Object.keys(outputs).map((name, at) => [name, at]));
  const exported = (name: Output) => {
    const isMerged = hosts.get(name) !== name;
    const prefix = isMerged ? `m${order.get(name)}_` : '';
    return (outputs[name]?.exports ?? []).map((each) => [each, prefix + each] as const);
  };
  return {
    name: 'merge-chunks',
    setup(esbuild) {
      esbuild.onResolve(
        { filter: /.*/ },
        ({ path: wanted, kind, importer, namespace, resolveDir }) => {
          if (kind === 'entry-point') return { path: path.resolve(wanted), namespace: 'host' };
          const isChunk = wanted.startsWith('.') || path.isAbsolute(wanted);
          if (!isChunk || namespace === 'merged') return { path: wanted, external: true };
          const file = path.resolve(resolveDir, wanted);
          const [chunk, own] = [outputOf(file), hosts.get(outputOf(importer))];
          const host = hosts.get(chunk);
          if (host === undefined || own === undefined) throw new Error(`${chunk} is not a chunk`);
          if (kind !== 'dynamic-import' && host === own) return { path: file };
          // The result has the same folders, so relative paths stay the same.
          const place = path.posix.relative(path.posix.dirname(own), host);
          const specifier = place.startsWith('.') ? place : `./${place}`;
          if (host === chunk) return { path: specifier, external: true };
          // The specifier is part of the module's identity, because it depends on the importer.
          return { path: file, namespace: 'merged', suffix: `?${specifier}` };
        },
      );
      esbuild.onLoad({ filter: /.*/, namespace: 'host' }, ({ path: file }) => {
        const host = outputOf(file);
        const merged = [...hosts].filter(([, at]) => at === host).map(([name]) => name);
        const lines = merged.map((name) => {
          const pairs = exported(name).map(([from, as]) => `${from} as ${as}`);
          return `export {${pairs.join()}} from ${JSON.stringify(path.resolve(name))};`;
        });
        return { contents: lines.join('\n'), resolveDir: path.dirname(file) };
      });
      esbuild.onLoad({ filter: /.*/, namespace: 'merged' }, ({ path: file, suffix }) => {
        const pairs = exported(outputOf(file)).map(([as, from]) => `${from} as ${as}`);
        const host = JSON.stringify(suffix.slice('?'.length));
        return {
          contents: `export {${pairs.join()}} from ${host};`,
          resolveDir: path.dirname(file),
        };
      });
    },
  };
}

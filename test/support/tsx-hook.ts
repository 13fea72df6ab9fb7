// Lets `node --test` load .tsx: Node strips types but does not know JSX. Wired in by --import (see package.json).
import { readFileSync } from 'node:fs';
import { enableCompileCache, registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'oxc-transform';

// Every test file is a process that loads mostly the same modules. They are compiled once.
enableCompileCache(join(tmpdir(), 'parley-test-compile-cache'));

registerHooks({
  load(url, context, nextLoad) {
    if (!url.startsWith('file:') || !url.endsWith('.tsx')) return nextLoad(url, context);
    const file = fileURLToPath(url);
    const { code, map, errors } = transformSync(file, readFileSync(file, 'utf8'), {
      jsx: { runtime: 'automatic' },
      sourcemap: true,
    });
    const [fatal] = errors;
    if (fatal) throw new SyntaxError(`${file}: ${fatal.message}\n${fatal.codeframe ?? ''}`);
    const inline = Buffer.from(JSON.stringify(map)).toString('base64');
    const source = `${code}\n//# sourceMappingURL=data:application/json;base64,${inline}`;
    return { format: 'module', source, shortCircuit: true };
  },
});

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { testGateway } from '../../../test/support/gateway-keys.ts';
import type { NewKey } from './schema.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'parley-pepper-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const fields: NewKey & { workspace: string } = { workspace: 'default', name: 'ci', scopes: ['*'] };

test('the pepper is a file beside the register that only its owner reads, made once', () => {
  const file = path.join(folder, 'once.db');
  using one = testGateway({ path: file });
  using two = testGateway({ path: file });
  assert.equal(one.pepper.id, two.pepper.id);
  const { size, mode } = statSync(`${file}.pepper`);
  assert.deepEqual([size, mode & 0o777], [32, 0o600]);
});

test('processes that start at the same moment have one pepper', async () => {
  const file = path.join(folder, 'race.db');
  const program = `
    import { openRegister } from ${JSON.stringify(import.meta.resolve('../register/sqlite-register.ts'))};
    import { openPepper } from ${JSON.stringify(import.meta.resolve('./pepper.ts'))};
    const register = openRegister(process.argv[1], console);
    process.stdout.write(openPepper({ register, path: process.argv[1] }).id);`;
  const args = ['--conditions=parley-source', '--input-type=module', '-e', program, file];
  const runs = Array.from({ length: 4 }, () => promisify(execFile)(process.execPath, args));
  const ids = (await Promise.all(runs)).map(({ stdout }) => stdout);
  assert.match(ids[0] ?? '', /^[0-9a-f]{16}$/);
  assert.equal(new Set(ids).size, 1);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.new')),
    [],
  );
});

test('a lost pepper makes keys unusable, says so once, and restored makes them good again', () => {
  const file = path.join(folder, 'lost.db');
  const { key, secret } = (() => {
    using gateway = testGateway({ path: file });
    return gateway.keys.create(fields, 'cli');
  })();
  renameSync(`${file}.pepper`, `${file}.backup`);
  {
    using gateway = testGateway({ path: file });
    assert.equal(gateway.keys.verify(secret), undefined);
    assert.equal(gateway.keys.verify(secret), undefined);
    assert.equal(gateway.logger.lines.length, 1);
    assert.match(gateway.logger.lines[0] ?? '', /another PARLEY_SECRET_KEY or pepper file/);
    assert.equal(gateway.keys.get('default', key.id).status, 'unusable');
    assert.equal(gateway.keys.unusable(), 1);
  }
  renameSync(`${file}.backup`, `${file}.pepper`);
  using gateway = testGateway({ path: file });
  assert.equal(gateway.keys.verify(secret)?.id, key.id);
  assert.equal(gateway.keys.unusable(), 0);
});

test('a wrong secret under the right pepper is no reason for a line in the log', () => {
  using gateway = testGateway();
  const { secret } = gateway.keys.create(fields, 'cli');
  gateway.keys.verify(`${secret.slice(0, -4)}AAAA`);
  assert.deepEqual(gateway.logger.lines, []);
});

test('with PARLEY_SECRET_KEY there is no file, and the same one gives the same pepper', () => {
  const file = path.join(folder, 'derived.db');
  const made = (() => {
    using gateway = testGateway({ path: file, secretKey: 'correct horse' });
    return gateway.keys.create(fields, 'cli');
  })();
  using same = testGateway({ path: file, secretKey: 'correct horse' });
  assert.equal(same.keys.verify(made.secret)?.id, made.key.id);
  using changed = testGateway({ path: file, secretKey: 'battery staple' });
  assert.equal(changed.keys.verify(made.secret), undefined);
  assert.equal(changed.logger.lines.length, 1);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('derived.db.')),
    [],
  );
});

test('the same PARLEY_SECRET_KEY gives another register another pepper', () => {
  using one = testGateway({ secretKey: 'correct horse' });
  using two = testGateway({ secretKey: 'correct horse' });
  assert.notEqual(one.pepper.id, two.pepper.id);
});

test('a file that is no pepper is refused in one line', () => {
  const file = path.join(folder, 'damaged.db');
  writeFileSync(`${file}.pepper`, 'short');
  assert.throws(
    () => testGateway({ path: file }),
    /damaged\.db\.pepper is not a valid pepper file/,
  );
});

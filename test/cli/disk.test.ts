// A disk that is full or read-only, and files that are no stores. The disks are real ones, mounted for the server alone.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { assertRefused, folder, parley, serving } from './support.ts';

const own = process.getuid?.() === 0 ? '-m' : '-rm';
/** Runs a program with mounts of its own. */
const mounted = (script: string) => ['unshare', own, 'sh', '-c', `${script} && exec "$@"`, 'sh'];
const canMount = () => {
  const [command = '', ...args] = mounted(`mount -t tmpfs tmpfs '${folder}'`);
  return spawnSync(command, [...args, 'true']).status === 0;
};
const skip = canMount() ? false : 'this user cannot mount file systems';

let made = 0;
function message(text: string): string {
  const messageId = `disk-${++made}`;
  return JSON.stringify({ message: { messageId, role: 'ROLE_USER', parts: [{ text }] } });
}

/** Asks until the status is the expected one: the result of /readyz is cached for a second. */
async function until(status: number, ask: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const response = await ask();
    if (response.status === status) return response;
    await response.body?.cancel();
  }
}

describe('the disk of a store', { concurrency: 2 }, () => {
  test(
    'when the disk is full, messages get 503 and /readyz fails, and both work again when there is room',
    { skip },
    async () => {
      const disk = path.join(folder, 'full');
      mkdirSync(disk);
      const server = await serving(
        ['--agent', 'bench', '--store', `sqlite:${path.join(disk, 'tasks.db')}`],
        { through: mounted(`mount -t tmpfs -o size=4m tmpfs '${disk}'`) },
      );
      const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };
      const send = () =>
        fetch(`${server.url}/message:send`, {
          method: 'POST',
          headers,
          body: message('task 10 2000 burst'),
        });
      const ready = () => fetch(`${server.url}/readyz`);
      const first = await send();
      const text = await first.text();
      assert.equal(first.status, 200, text);
      const { task } = JSON.parse(text) as { task: { id: string } };
      assert.equal((await ready()).status, 200);

      const filler = path.join(`/proc/${server.pid}/root`, disk, 'filler');
      let bytes = Buffer.alloc(4 * 1024 * 1024);
      for (; bytes.length > 512; bytes = bytes.subarray(0, bytes.length / 2)) {
        try {
          writeFileSync(filler, bytes, { flag: 'a' });
        } catch (error) {
          assert.match(String(error), /ENOSPC/);
        }
      }
      const refused = await until(503, send);
      assert.ok(refused.headers.get('retry-after'));
      assert.doesNotMatch(await refused.text(), /sqlite|disk|tasks\.db/i);
      const failing = (await (await until(503, ready)).json()) as object;
      assert.deepEqual(failing, { status: 'failing', checks: { store: 'failed' } });
      const known = await fetch(`${server.url}/tasks/${task.id}`, { headers });
      assert.equal(known.status, 200, 'what was acknowledged can be read');

      rmSync(filler);
      await until(200, ready);
      assert.equal((await send()).status, 200);
      assert.equal((await server.stop()).code, 0);
    },
  );

  test('a store on a read-only disk is refused with one line', { skip }, async () => {
    const disk = path.join(folder, 'read-only');
    mkdirSync(disk);
    sqliteStore(path.join(disk, 'old.db')).close();
    const script = `mount --bind '${disk}' '${disk}' && mount -o remount,bind,ro '${disk}'`;
    for (const name of ['old.db', 'new.db']) {
      const args = ['serve', '--port', '0', '--store', `sqlite:${path.join(disk, name)}`];
      const ended = await parley(args, { through: mounted(script) });
      assertRefused(ended, 2, new RegExp(`${name.replace('.', '\\.')}.*(?:read-only|cannot)`));
    }
  });

  test('a damaged store is refused with one line that says how to save what can be read', async () => {
    const file = path.join(folder, 'damaged.db');
    sqliteStore(file).close();
    writeFileSync(file, readFileSync(file).fill(0xa5, 4096));
    const ended = await parley(['serve', '--port', '0', '--store', `sqlite:${file}`]);
    assertRefused(
      ended,
      2,
      /damaged\.db is damaged.*sqlite3 '.*damaged\.db' \.recover \| sqlite3 new\.db/,
    );
  });

  test('a pipe in the place of the store is refused with one line, at once', async () => {
    const file = path.join(folder, 'pipe.db');
    assert.equal(spawnSync('mkfifo', [file]).status, 0);
    const ended = await parley(['serve', '--port', '0', '--store', `sqlite:${file}`]);
    assertRefused(ended, 2, /pipe\.db/);
  });
});

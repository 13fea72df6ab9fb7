// A live session like that of `parley --a2a-port`. Its model alternates between thoughts and text, with one event for
// each.
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { Model } from '../../src/agent/model.ts';
import { sqliteSessions } from '../../src/agent/sqlite/index.ts';
import { createCoder } from '../../src/coder/coder.ts';
import { openLive, type Live } from '../../src/live/hub.ts';
import { liveServeOptions } from '../../src/live/ws/route.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { serve } from '../../src/server.ts';

const folder = process.argv[2] ?? process.cwd();
const logger = { debug() {}, info() {}, warn: console.error, error: console.error };

const model: Model = {
  name: 'talkative',
  async *generate() {
    for (let piece = 0; piece < 100; piece++) {
      yield { kind: 'thought', text: 'x'.repeat(100) };
      await turn();
      yield { kind: 'text', text: 'x'.repeat(100) };
      await turn();
    }
    yield { kind: 'finish', reason: 'stop' };
  },
};

const session: { live?: Live } = {};
const coder = await createCoder({
  roots: [folder],
  model,
  sessions: sqliteSessions(join(folder, 'sessions.db')),
  configFolder: join(folder, 'config'),
  dataFolder: folder,
  logger,
});
const server = serve(coder.agent, {
  ...liveServeOptions({ coder, live: () => session.live, logger }),
  store: sqliteStore(join(folder, 'tasks.db')),
  logger,
});
session.live = await openLive({ coder, handler: server.handler, workspace: folder, logger });
const { port } = await server.listen(0);
console.log(JSON.stringify({ port }));

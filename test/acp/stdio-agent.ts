/**
 * An agent for an editor, over standard input and output: a session of its own for each `session/new`, in its folder.
 *
 *   node stdio-agent.ts HOME SCRIPT
 */
import { join } from 'node:path';
import { serveAcp } from '../../src/acp/serve.ts';
import { stdioStream } from '../../src/acp/streams.ts';
import { scriptFromFile } from '../../src/agent/models/scripted.ts';
import { sqliteSessions } from '../../src/agent/sqlite/index.ts';
import { createCoder } from '../../src/coder/coder.ts';
import { openLive, type Live } from '../../src/live/hub.ts';
import { taskNotFound } from '../../src/protocol/index.ts';
import { createHandler } from '../../src/tasks/index.ts';

const [home = '', script = ''] = process.argv.slice(2);
const logger = { debug() {}, info() {}, warn: print, error: print };
const model = scriptFromFile(script);
const sessions = sqliteSessions(join(home, 'sessions.db'));
const lives = new Map<string, Live>();

function print(fields: object, message: string): void {
  process.stderr.write(`${message} ${JSON.stringify(fields)}\n`);
}

async function open(cwd: string): Promise<Live> {
  const config = { configFolder: join(home, 'config'), dataFolder: home };
  const coder = await createCoder({ roots: [cwd], sessions, ...config, logger, model });
  const handler = createHandler(coder.agent, { logger });
  const live = await openLive({ coder, handler, workspace: cwd, logger });
  lives.set(live.contextId, live);
  return live;
}

const served = serveAcp(stdioStream(), {
  version: '1.2.3',
  logger,
  async join({ cwd, sessionId, clientName: name }) {
    const live = sessionId === undefined ? await open(cwd) : lives.get(sessionId);
    if (!live) throw taskNotFound(sessionId ?? '');
    return live.join({ kind: 'acp', name });
  },
});
await served.closed;
process.exit(0);

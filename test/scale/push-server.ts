// A server of the bench agent for push-kill.test.ts: its retries are faster than those of `parley serve`.
import path from 'node:path';
import { bench } from '../../src/cli/agents/bench.ts';
import { openSigningKeys, serve } from '../../src/server.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';

const [folder = '.'] = process.argv.slice(2);
const { url } = await serve(bench, {
  store: sqliteStore(path.join(folder, 'tasks.db')),
  signing: openSigningKeys(path.join(folder, 'signing.key')),
  push: { allowNetworks: ['127.0.0.0/8'], timeoutMs: 1000 },
  limits: { pushRetryMs: 100, pushMaxRetryMs: 3000 },
}).listen();
process.stdout.write(`${JSON.stringify({ url })}\n`);

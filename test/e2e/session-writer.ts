// Appends events to the session named by its arguments, and says the number of each once it is stored.
import { writeSync } from 'node:fs';
import { createEvent } from '../../src/agent/event.ts';
import { sqliteSessions } from '../../src/agent/sqlite/index.ts';

const [path = '', id = '', count = ''] = process.argv.slice(2);
const key = { app: 'app', user: 'alice', id };
const store = sqliteSessions(path, { busyTimeout: 30_000 });
await store.open(key);
for (let n = 0; n < Number(count); n++) {
  const actions = { stateDelta: { [`${process.pid}`]: n, 'user:last': n } };
  const event = createEvent({ runId: `${process.pid}`, author: 'writer' }, { actions });
  await store.append(key, [{ ...event, id: `${process.pid}-${n}` }]);
  // Not by a stream, which would keep it back: what is said has to be out when the process is killed.
  writeSync(1, `${n}\n`);
}
await store.close();

/**
 * A coding agent in a process of its own, to be killed: `coder-process.ts FOLDER PORT`. Its workspace, its stores and
 * its script are in the folder. What the model says follows from the conversation alone, so that after a restart it
 * goes on where it was.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Model } from '../../src/agent/model.ts';
import { scriptedModel, type ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { sqliteSessions } from '../../src/agent/sqlite/index.ts';
import { createCoder } from '../../src/coder/coder.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { serve } from '../../src/server.ts';

const [folder = '', port = '0'] = process.argv.slice(2);
const scriptIn = (name: string) =>
  JSON.parse(readFileSync(join(folder, name), 'utf8')) as ScriptedResponse[];
const script = scriptIn('script.json');
const helperScript = scriptIn('helper.json');
const model: Model = {
  name: 'scripted',
  async *generate(request, signal) {
    const said = request.messages.filter(({ role }) => role === 'model').length;
    const isHelper = request.system?.includes('You are a helper of another agent') === true;
    const own = isHelper ? helperScript : script;
    yield* scriptedModel(own.slice(said)).generate(request, signal);
  },
};
const complain = (...line: unknown[]): void =>
  void process.stderr.write(`${JSON.stringify(line)}\n`);
const logger = { debug() {}, info() {}, warn: complain, error: complain };
const coder = await createCoder({
  roots: [join(folder, 'work')],
  model,
  sessions: sqliteSessions(join(folder, 'sessions.db')),
  configFolder: join(folder, 'config'),
  dataFolder: join(folder, 'data'),
  logger,
});
const store = sqliteStore(join(folder, 'tasks.db'));
const { url } = await serve(coder.agent, { logger, store }).listen(Number(port));
process.stdout.write(`${url}\n`);

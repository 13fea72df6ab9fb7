// The session that `parley --a2a-port` opens, as an editor finds it on the port.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { methods, type ListSessionsRequest } from '@agentclientprotocol/sdk';
import { openLiveSession } from '../../src/cli/coder/live-session.ts';
import { openSessions } from '../../src/cli/coder/setup.ts';
import { createLog } from '../../src/cli/program/log.ts';
import { makePlace } from '../coder/support.ts';
import { editorAt } from './support.ts';

test('an editor on the port lists the live session, and its title once it has one', async (t) => {
  const { home, workspace } = makePlace(t);
  const environment = { PARLEY_HOME: home, XDG_CONFIG_HOME: join(home, 'config') };
  const place = { kind: 'memory' } as const;
  const sessions = await openSessions(place);
  const opened = await openLiveSession({
    values: { model: 'offline', approval: undefined, sandbox: false },
    environment,
    roots: [workspace],
    place,
    sessions,
    address: { port: 0, host: '127.0.0.1', tokens: [] },
    log: createLog(environment),
  });
  t.after(() => opened.close());
  const editor = await editorAt(t, `${opened.url}/ws`, ['acp']);
  const { agentCapabilities } = await editor.initialize();
  assert.equal(agentCapabilities?.promptCapabilities?.image, false);
  const list = async (query: ListSessionsRequest = {}) => {
    const { sessions: found } = await editor.connection.agent.request(
      methods.agent.session.list,
      query,
    );
    return found.map(({ sessionId, cwd, title }) => ({ sessionId, cwd, title }));
  };
  const { sessionId } = opened;
  assert.deepEqual(await list(), [{ sessionId, cwd: workspace, title: undefined }]);
  assert.deepEqual(opened.live.clients, [], 'a client that lists has not joined');
  await editor.load(sessionId);
  await editor.prompt('who are you?');
  const listed = [{ sessionId, cwd: workspace, title: 'who are you?' }];
  assert.deepEqual(await list(), listed);
  assert.deepEqual(await list({ cwd: workspace }), listed);
  assert.deepEqual(await list({ cwd: home }), []);
  const remove = editor.connection.agent.request(methods.agent.session.delete, { sessionId });
  await assert.rejects(remove, { code: -32601 });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, parley, serving, start } from './support.ts';

test('parley inspect prints a link that works once, and relays requests until it is told to stop', async () => {
  const agent = await serving(['--agent', 'echo', '--token', 'secret']);
  const inspector = start(['inspect', agent.url, '--no-open', '--token', 'secret']);
  const [, base = '', ticket = ''] = await inspector.saying(
    /Inspector of \S+: (http:\/\/127\.0\.0\.1:\d+)\/console#ticket=([\w-]{15})\n/,
  );
  assert.equal((await fetch(`${base}/inspector`)).status, 401);
  const exchange = () =>
    fetch(`${base}/session/tickets`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ticket }),
    });
  const { token } = (await (await exchange()).json()) as { token: string };
  assert.equal((await exchange()).status, 401);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const state: unknown = await (await fetch(`${base}/inspector`, { headers })).json();
  assert.deepEqual(state, {
    url: agent.url,
    trusted: [agent.url],
    agreed: [],
    headers: ['authorization'],
  });
  // The request reaches the agent with the token of the command line.
  const body = JSON.stringify({ url: `${agent.url}/tasks` });
  const answer = await fetch(`${base}/inspector/requests`, { method: 'POST', headers, body });
  assert.match(await answer.text(), /^\{"response":\{"status":200,/);
  inspector.child.kill('SIGTERM');
  const { code, out } = await inspector.ended;
  assert.equal(code, 0);
  assert.doesNotMatch(out, /secret/);
  await agent.stop();
});

test('parley inspect --json prints one line, and a wrong address is refused', async () => {
  const inspector = start(['inspect', 'http://127.0.0.1:9', '--json'], {
    // The port of a server in the same environment is not the port of the inspector.
    env: { PARLEY_PORT: 'in-use' },
  });
  const [line] = await inspector.saying(/^\{.*\}\n/);
  const { ready, url, port, pid } = JSON.parse(line) as Record<string, unknown>;
  assert.deepEqual({ ready, pid }, { ready: true, pid: inspector.child.pid });
  assert.match(String(url), new RegExp(`^http://127\\.0\\.0\\.1:${String(port)}/console#ticket=`));
  inspector.child.kill('SIGTERM');
  await inspector.ended;
  assertRefused(await parley(['inspect', 'nonsense']), 2, /not a valid agent URL/);
  const help = await parley(['inspect', '--help']);
  assert.match(help.out, /parley inspect http:\/\/127\.0\.0\.1:41242/);
});

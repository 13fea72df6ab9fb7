// Links that answer one call: what opening them shows, and that only the button decides, once.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { AnswerLinks, LiveAccess, type Live } from '../../src/live/index.ts';
import { serveSession, Watcher } from './support.ts';

const writes = (path: string, content = 'hello\n'): ScriptedResponse => [
  { call: { name: 'write_file', args: { path, content } } },
];

async function asked(t: TestContext, script: readonly ScriptedResponse[]) {
  const time = { now: 0 };
  const session: { live?: Live } = {};
  const links = new AnswerLinks({ live: () => session.live, now: () => time.now });
  const access = new LiveAccess({ strict: true });
  const opened = await serveSession(t, {
    script: [...script, [{ text: 'Done.' }]],
    access: { access, links },
  });
  session.live = opened.live;
  const terminal = opened.live.join({ kind: 'terminal' });
  const watcher = new Watcher(terminal);
  await terminal.prompt('go');
  const call = await watcher.pending();
  return {
    ...opened,
    links,
    time,
    terminal,
    watcher,
    call,
    link: `${opened.url}${links.pathFor(call)}`,
  };
}

/** Returns the addresses of the buttons on a page, by their names. */
async function buttonsOn(link: string): Promise<Record<string, string>> {
  const page = await (await fetch(link)).text();
  const forms = [...page.matchAll(/action="([^"]+)"><button>([^<]+)</g)];
  // A proxy may serve the session below a path.
  for (const [, action = ''] of forms) assert.doesNotMatch(action, /^\//);
  return Object.fromEntries(forms.map(([, action, name]) => [name, new URL(action!, link).href]));
}

test('opening a link shows the call and decides nothing; its button allows the call, once', async (t) => {
  const { link, place, watcher, terminal } = await asked(t, [writes('a.txt')]);
  const file = join(place.workspace, 'a.txt');
  const shown = await fetch(link);
  assert.equal(shown.status, 200);
  const csp = shown.headers.get('content-security-policy') ?? '';
  assert.match(csp, /default-src 'none'; script-src 'none';/);
  assert.doesNotMatch(csp, /unsafe-inline/);
  assert.equal(shown.headers.get('cache-control'), 'no-store');
  const page = await shown.text();
  assert.match(page, /<h1>.*a\.txt<\/h1>/);
  assert.match(page, /hello/);
  assert.doesNotMatch(page, /<script|always/i);
  await fetch(link, { method: 'HEAD' });
  const buttons = await buttonsOn(link);
  assert.deepEqual(Object.keys(buttons), ['Allow once', 'Reject']);
  assert.equal((await fetch(buttons['Allow once']!)).status, 200);
  assert.equal((await terminal.clients()).length, 1);
  assert.equal(existsSync(file), false);
  assert.equal((await fetch(link, { method: 'POST' })).status, 405);

  const form = {
    'content-type': 'application/x-www-form-urlencoded',
    origin: new URL(link).origin,
  };
  const post = (url: string, headers = form) => fetch(url, { method: 'POST', headers, body: '' });
  const foreign = { ...form, origin: 'http://evil.example' };
  assert.equal((await post(buttons['Allow once']!, foreign)).status, 403);
  const twice = await Promise.all([post(buttons['Allow once']!), post(buttons['Allow once']!)]);
  assert.equal(twice.filter(({ status }) => status === 200).length, 1);
  assert.equal((await post(buttons['Reject']!)).status, 410);
  await watcher.state('completed');
  assert.equal(existsSync(file), true);
  assert.equal((await post(buttons['Allow once']!)).status, 410);
  assert.equal((await fetch(link)).status, 410);
});

test('a link shows that a patch makes a file executable', async (t) => {
  const header = 'new file mode 100755\n--- /dev/null\n+++ b/tool\n@@ -0,0 +1,1 @@\n+echo\n';
  const patch = `diff --git a/tool b/tool\n${header}`;
  const { link } = await asked(t, [[{ call: { name: 'apply_patch', args: { patch } } }]]);
  assert.match(await (await fetch(link)).text(), /new file mode 100755/);
});

test('a link is void when it is changed, expired or withdrawn, or when somebody else has answered', async (t) => {
  const { link, links, time, call, url, terminal } = await asked(t, [writes('a.txt')]);
  const [text, mac] = link.slice(link.lastIndexOf('/') + 1).split('.');
  const forged = Buffer.from(
    Buffer.from(text!, 'base64url').toString().replace('""', '"proceed_once"'),
  ).toString('base64url');
  for (const wrong of [`${forged}.${mac}`, `${text}.`, text, 'x', `${text}.${mac}x`]) {
    const at = `${url}/session/answers/${wrong}`;
    assert.equal((await fetch(at)).status, 404, wrong);
    assert.equal((await fetch(at, { method: 'POST' })).status, 404, wrong);
  }
  const buttons = await buttonsOn(link);
  time.now = 31 * 60_000;
  assert.equal((await fetch(link)).status, 404);
  assert.equal((await fetch(buttons['Allow once']!, { method: 'POST' })).status, 404);
  const fresh = `${url}${links.pathFor(call)}`;
  const reject = (await buttonsOn(fresh))['Reject']!;
  await terminal.confirm({ tool_call_id: call.tool_call_id, selected_option_id: 'cancel' });
  const late = await fetch(reject, { method: 'POST' });
  assert.equal(late.status, 410);
  assert.match(await late.text(), /already resolved by terminal/);
  links.withdraw();
  assert.equal((await fetch(fresh)).status, 404);
});

test('a link whose answer could not be sent can be used again', async (t) => {
  const { link, live, watcher } = await asked(t, [writes('a.txt')]);
  const allow = (await buttonsOn(link))['Allow once']!;
  const others = [];
  try {
    for (;;) others.push(live.join({ kind: 'a2a' }));
  } catch {
    // The session is full.
  }
  assert.equal((await fetch(allow, { method: 'POST' })).status, 503);
  for (const other of others) await other.close();
  assert.equal((await fetch(allow, { method: 'POST' })).status, 200);
  await watcher.state('completed');
});

test('a page runs nothing of a call, and does not offer to allow what it cannot show', async (t) => {
  const script = '<script>alert(1)</script>"\'\u202E';
  const { link } = await asked(t, [writes('a.html', script)]);
  const page = await (await fetch(link)).text();
  assert.match(page, /&lt;script&gt;alert\(1\)&lt;\/script&gt;&quot;&#39;&lt;U\+202E&gt;/);
  assert.doesNotMatch(page, /<script/);
  const long = await asked(t, [writes('b.txt', 'line\n'.repeat(40_000))]);
  assert.deepEqual(Object.keys(await buttonsOn(long.link)), ['Reject']);
});

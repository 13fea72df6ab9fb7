// What the page shows and what it refuses to do: hostile text, very much text, lost connections, and access for all.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import axe from 'axe-core';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { bridge, serveSession } from '../live/support.ts';
import { DESKTOP, noBrowser, PHONE, visit } from './support.ts';

const skip = noBrowser;
const says = (text: string): ScriptedResponse => [{ text }];
const call = (name: string, args: Record<string, string>): ScriptedResponse => [
  { call: { name, args } },
];

const HOSTILE = [
  '<script>alert("html")</script> <img src=x onerror="alert(1)"> <iframe src="https://evil.example"></iframe>',
  '[click](javascript:alert(1)) [data](data:text/html,<script>alert(2)</script>) [ok](https://good.example/a)',
  '![pixel](https://evil.example/pixel.png) <https://good.example/b>',
  '`rm \u202e\u2066 x` \u001b[31mred\u001b[0m \u0000',
  '<style>*{display:none}</style><base href="https://evil.example/"><form action="https://evil.example">',
  '',
].join('\n\n');

test(
  'hostile text runs nothing, loads nothing, and hides nothing in an approval',
  { skip },
  async (t) => {
    const command = 'echo safe\r\u202eevil\u2066 \u001b[2K # <img src=x onerror=alert(3)>';
    const script = [says(HOSTILE), call('run_shell_command', { command }), says('Over.')];
    const { url, live } = await serveSession(t, { script });
    const terminal = live.join({ kind: 'terminal', name: '<b onclick=alert(4)>\u202e' });
    const { page, trouble } = await visit(t, url);
    await terminal.prompt('<script>alert("prompt")</script>');
    await page.getByText('<iframe').first().waitFor();
    await page.getByText('alert("prompt")').waitFor();
    const links = await page.evaluate(
      `[...document.querySelectorAll('.text a')].map(({ attributes }) => [attributes.href.value, attributes.rel.value])`,
    );
    const rel = 'noopener noreferrer nofollow';
    assert.deepEqual(links, [
      ['https://good.example/a', rel],
      ['https://good.example/b', rel],
    ]);
    assert.equal(await page.locator('.scroll :is(script,img,iframe,style,base,form)').count(), 0);
    await terminal.prompt('run it');
    const about = page.getByRole('dialog').locator('.command');
    const shown = await about.innerText();
    assert.match(shown, /echo safe␍<U\+202E>evil<U\+2066> ␛\[2K # <img src=x onerror=alert\(3\)>/);
    const text = await page.locator('body').innerText();
    assert.doesNotMatch(text, /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
    await page.getByRole('button', { name: 'Reject', exact: true }).click();
    await page.getByText('Over.').waitFor();
    assert.deepEqual(trouble, []);
  },
);

test(
  'a call with a content of 10 MB is shown in slices, and the page goes on answering',
  { skip },
  async (t) => {
    const content = 'a line of the large file\n'.repeat(400_000);
    const script = [call('write_file', { path: 'large.txt', content }), says('Over.')];
    const { url, live } = await serveSession(t, { script });
    const terminal = live.join({ kind: 'terminal' });
    const { page, trouble } = await visit(t, url);
    await page.getByText('Connected').waitFor();
    await page.evaluate(`globalThis.longest = 0; {
    let last = performance.now();
    setInterval(() => { const now = performance.now(); longest = Math.max(longest, now - last); last = now; }, 10);
  }`);
    await terminal.prompt('write it');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('a line of the large file').first().waitFor();
    await dialog.getByRole('button', { name: /Show more/ }).click();
    await dialog.getByRole('button', { name: /Show more/ }).click();
    const rows = await dialog.locator('.slice > div').count();
    assert.ok(rows > 1000 && rows < 10_000, `${rows} rows`);
    await dialog.getByRole('button', { name: 'Reject', exact: true }).click();
    await page.getByText('Over.').waitFor();
    const longest = Number(await page.evaluate('longest'));
    t.diagnostic(`the page was busy for at most ${Math.round(longest)} ms`);
    // About 250 ms of work. The machine of the tests may be busy with other work.
    assert.ok(longest < 3000, `the page was busy for ${longest} ms`);
    assert.deepEqual(trouble, []);
  },
);

test('after a lost connection the page continues by itself, without a gap', { skip }, async (t) => {
  const numbers = Array.from({ length: 60 }, (_, at) => `number ${at + 1}.\n\n`);
  const script = [numbers.flatMap((text) => [{ text }, { delayMs: 15 }])];
  const { url, live } = await serveSession(t, { script });
  const way = await bridge(t, url);
  const terminal = live.join({ kind: 'terminal' });
  const { page, trouble } = await visit(t, way.url);
  await page.getByText('Connected').waitFor();
  await terminal.prompt('count');
  await page.getByText('number 5.', { exact: true }).waitFor();
  way.setOpen(false);
  await page.getByText('Reconnecting…').waitFor();
  way.setOpen(true);
  await page.getByText('Connected').waitFor();
  await page.getByText('number 60.', { exact: true }).waitFor();
  const said = await page.locator('.text').allInnerTexts();
  assert.deepEqual(
    said.join('\n').match(/number \d+/g),
    numbers.map((text) => text.trim().slice(0, -1)),
  );
  assert.deepEqual(trouble, []);
});

test(
  'a prompt that is typed while a question opens is kept, and Enter does not approve',
  { skip },
  async (t) => {
    const script = [call('write_file', { path: 'a.txt', content: 'x' }), says('Over.')];
    const { url, live } = await serveSession(t, { script });
    const terminal = live.join({ kind: 'terminal' });
    const { page } = await visit(t, url, DESKTOP);
    const field = page.getByLabel('Prompt');
    await field.pressSequentially('I was typ');
    await terminal.prompt('write');
    await page.getByRole('dialog').waitFor();
    await field.pressSequentially('ing');
    assert.equal(await field.inputValue(), 'I was typing');
    await field.fill('');
    await page.getByRole('dialog').focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press(' ');
    assert.ok(await page.getByRole('dialog').isVisible());
    await page.getByRole('button', { name: 'Reject', exact: true }).isEnabled();
    await page.getByRole('button', { name: 'Reject with a reason…' }).click();
    await page.getByLabel('Reason for rejecting').fill('Use b.txt');
    await page.getByRole('button', { name: 'Reject with this reason' }).click();
    await page.getByText('↳ You: Reject: Use b.txt').waitFor();
  },
);

test(
  'a dialog does not take the focus from an empty prompt field, so that typed digits choose nothing',
  { skip },
  async (t) => {
    const script = [call('write_file', { path: 'a.txt', content: 'x' }), says('Over.')];
    const { url, live } = await serveSession(t, { script });
    const terminal = live.join({ kind: 'terminal' });
    const { page } = await visit(t, url, DESKTOP);
    const field = page.getByLabel('Prompt');
    await field.focus();
    await terminal.prompt('write');
    const dialog = page.getByRole('dialog');
    await dialog.locator('.options button:enabled').first().waitFor();
    await page.keyboard.type('add 2 tests');
    assert.equal(await field.inputValue(), 'add 2 tests');
    assert.ok(await dialog.isVisible());
    // The keyboard reaches the dialog, whose number keys then work.
    await page.keyboard.press('Shift+Tab');
    const reject = dialog.getByRole('button', { name: 'Reject', exact: true });
    await page.keyboard.press((await reject.getAttribute('aria-keyshortcuts')) ?? '');
    await page.getByText('↳ You: Reject').waitFor();
  },
);

test('each key delays the time from which a dialog takes answers', { skip }, async (t) => {
  const script = [call('write_file', { path: 'a.txt', content: 'x' }), says('Over.')];
  const { url, live } = await serveSession(t, { script });
  const terminal = live.join({ kind: 'terminal' });
  const { page } = await visit(t, url, DESKTOP);
  await page.getByText('Connected').waitFor();
  await page.clock.install();
  await page.clock.pauseAt(Date.now() + 60_000);
  await terminal.prompt('write');
  const dialog = page.getByRole('dialog');
  while (!(await dialog.isVisible())) await page.clock.runFor(20);
  const enabled = dialog.locator('.options button:enabled');
  for (const key of ['2', 'a', '1']) {
    await page.clock.runFor(350);
    assert.equal(await enabled.count(), 0, `before ${key}`);
    await page.keyboard.press(key);
  }
  await page.clock.runFor(350);
  assert.equal(await enabled.count(), 0);
  await page.clock.runFor(100);
  assert.ok((await enabled.count()) > 0);
  assert.equal(await page.locator('.decision').count(), 0);
});

test('a number key chooses the button that shows this number', { skip }, async (t) => {
  const script = [call('write_file', { path: 'a.txt', content: 'x' }), says('Over.')];
  const { url, live } = await serveSession(t, { script });
  const terminal = live.join({ kind: 'terminal' });
  const { page } = await visit(t, url, DESKTOP);
  await page.getByText('Connected').waitFor();
  await terminal.prompt('write');
  const reject = page.getByRole('dialog').getByRole('button', { name: 'Reject', exact: true });
  await page.getByRole('dialog').locator('.options button:enabled').first().waitFor();
  const shown = "getComputedStyle(document.querySelector('.dialog .reject'), '::before').content";
  const key = /\d/.exec(String(await page.evaluate(shown)))?.[0] ?? '';
  assert.equal(await reject.getAttribute('aria-keyshortcuts'), key);
  await page.getByRole('dialog').press(key);
  await page.getByText('↳ You: Reject').waitFor();
});

test('the field for a reason takes the focus only once', { skip }, async (t) => {
  const script = [call('write_file', { path: 'a.txt', content: 'x' }), says('Over.')];
  const { url, live } = await serveSession(t, { script });
  const terminal = live.join({ kind: 'terminal' });
  const { page } = await visit(t, url, DESKTOP);
  await page.getByText('Connected').waitFor();
  await terminal.prompt('write');
  await page.getByRole('button', { name: 'Reject with a reason…' }).click();
  await page.keyboard.type('no');
  assert.equal(await page.getByLabel('Reason for rejecting').inputValue(), 'no');
  await page.keyboard.press('Tab');
  // Another client joins, which draws the dialog again.
  live.join({ kind: 'a2a', name: 'late client' });
  await page.getByText('late client').first().waitFor({ state: 'attached' });
  assert.equal(
    await page.evaluate('document.activeElement.textContent'),
    'Reject with this reason',
  );
});

test('a patch that makes a file executable says so, before it is allowed', { skip }, async (t) => {
  const patch =
    'diff --git a/a.sh b/a.sh\nnew file mode 100755\n--- /dev/null\n+++ b/a.sh\n@@ -0,0 +1 @@\n+ls\n';
  const script = [call('apply_patch', { patch }), says('Over.')];
  const { url, live } = await serveSession(t, { script });
  const terminal = live.join({ kind: 'terminal' });
  const { page } = await visit(t, url);
  await page.getByText('Connected').waitFor();
  await terminal.prompt('patch');
  await page.getByRole('button', { name: 'Allow once' }).waitFor();
  await page.getByRole('dialog').getByText('new file mode 100755').waitFor();
});

test('proposed content can be edited before it is written', { skip }, async (t) => {
  const script = [call('write_file', { path: 'a.txt', content: 'hello\n' }), says('Over.')];
  const { url, live, place } = await serveSession(t, { script });
  const terminal = live.join({ kind: 'terminal' });
  const { page } = await visit(t, url);
  await page.getByText('Connected').waitFor();
  await terminal.prompt('write');
  await page.getByRole('button', { name: 'Allow with other content' }).click();
  await page.getByLabel('Content').fill('hello, edited\n');
  await page.getByRole('button', { name: 'Allow with these changes' }).click();
  await page.getByText('Over.').waitFor();
  assert.equal(readFileSync(`${place.workspace}/a.txt`, 'utf8'), 'hello, edited\n');
});

for (const colorScheme of ['light', 'dark'] as const) {
  test(
    `axe finds no serious problem, from 360 px to 4K, in ${colorScheme} colours`,
    { skip },
    async (t) => {
      const text =
        '# Title\n\nSome `code`, a [link](https://good.example/) and:\n\n```ts\nconst a = "b"; // c\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n';
      const thought = { subject: 'Thinking', description: 'Why *not*?' };
      const script: ScriptedResponse[] = [
        [
          { thought },
          { text },
          { call: { name: 'write_file', args: { path: 'a.ts', content: 'let a = 1;\n' } } },
        ],
        says('Over.'),
      ];
      const { url, live } = await serveSession(t, { script });
      const terminal = live.join({ kind: 'terminal' });
      // Playwright may add axe to the page, although the page's policy forbids other scripts.
      const { page } = await visit(t, url, { ...PHONE, colorScheme, bypassCSP: true });
      await page.getByText('Connected').waitFor();
      await terminal.prompt('go');
      await page
        .getByRole('button', { name: 'Allow once' })
        .and(page.locator(':enabled'))
        .waitFor();
      await page.evaluate(axe.source);
      const check = async (where: string) => {
        const problems = (await page.evaluate(`axe.run().then(({ violations }) => violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`)) as string[];
        assert.deepEqual(problems, [], where);
        const overflow = Number(
          await page.evaluate('document.documentElement.scrollWidth - innerWidth'),
        );
        assert.ok(overflow <= 0, `${where}: the page is ${overflow} px too wide`);
      };
      for (const [width, height] of [
        [360, 640],
        [1440, 900],
        [3840, 2160],
      ] as const) {
        await page.setViewportSize({ width, height });
        await check(`dialog at ${width}`);
      }
      await page.getByRole('button', { name: 'Allow once' }).click();
      await page.getByText('Over.').waitFor();
      await page.locator('.clients summary').click();
      await page.locator('.thought summary').click();
      await check('transcript');
    },
  );
}

// Draws the pictures of the documentation. Runs only with PARLEY_SCREENSHOTS=1, which writes them to docs/images.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { serveSession } from '../live/support.ts';
import { DESKTOP, noBrowser, PHONE, visit } from './support.ts';

const skip = process.env['PARLEY_SCREENSHOTS'] === '1' ? noBrowser : 'only draws pictures';
const IMAGES = join(import.meta.dirname, '../../docs/images');

const BEFORE = `import { createServer } from 'node:http';
import { forecast } from './forecast.ts';

const server = createServer(async (request, response) => {
  const city = new URL(request.url, 'http://localhost').searchParams.get('city');
  response.end(JSON.stringify(await forecast(city)));
});

server.listen(8080, '0.0.0.0');
`;
const AFTER = BEFORE.replace(
  '  response.end(JSON.stringify(await forecast(city)));\n',
  "  if (!city) return response.writeHead(400).end('Which city?');\n  response.end(JSON.stringify(await forecast(city)));\n",
).replace("'0.0.0.0'", "'127.0.0.1'");

const SCRIPT: ScriptedResponse[] = [
  [
    {
      thought: {
        subject: 'Reading the server',
        description: 'It answers without a city, and it listens on all addresses.',
      },
    },
    { call: { name: 'read_file', args: { path: 'server.ts' } } },
  ],
  [
    {
      text: 'Two problems in `server.ts`:\n\n1. A request **without a city** reaches `forecast`.\n2. The server listens on *all* addresses.\n\nI will answer 400, and listen on loopback only.\n',
    },
    { call: { name: 'write_file', args: { path: 'server.ts', content: AFTER } } },
  ],
  [
    {
      call: {
        name: 'run_shell_command',
        args: { command: "printf '%s\\n' 'tests 12' 'pass 12' 'fail 0'" },
      },
    },
  ],
  [
    {
      text: 'Both are fixed, and the tests pass:\n\n| check | before | after |\n|---|---|---|\n| no city | crash | `400` |\n| address | `0.0.0.0` | `127.0.0.1` |\n',
    },
  ],
];

test('the pictures of the documentation', { skip }, async (t) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'p-')));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const place = { workspace: join(folder, 'weather'), home: join(folder, 'home') };
  for (const each of Object.values(place)) mkdirSync(each);
  writeFileSync(join(place.workspace, 'server.ts'), BEFORE);
  const { url, live } = await serveSession(t, { place, script: SCRIPT });
  const terminal = live.join({ kind: 'terminal', name: 'terminal' });
  const light = { ...PHONE, deviceScaleFactor: 2, colorScheme: 'light' } as const;
  const dark = { ...light, colorScheme: 'dark' } as const;
  const phone = await visit(t, url, light);
  await phone.page.getByText('Connected').waitFor();
  const { page: night } = await visit(t, url, dark);
  const { page: desktop } = await visit(t, url, { ...DESKTOP, colorScheme: 'light' });
  const { page: desktopDark } = await visit(t, url, { ...DESKTOP, colorScheme: 'dark' });
  await terminal.prompt('Look at server.ts: is anything wrong with it?');
  const allow = phone.page
    .getByRole('button', { name: 'Allow once' })
    .and(phone.page.locator(':enabled'));
  await allow.waitFor();
  await phone.page.screenshot({ path: join(IMAGES, 'phone-approves.png') });
  await desktop
    .getByRole('button', { name: 'Allow once' })
    .and(desktop.locator(':enabled'))
    .waitFor();
  await desktop.screenshot({ path: join(IMAGES, 'browser-approves.png') });
  await allow.click();
  await allow.waitFor();
  await allow.click();
  for (const [page, name] of [
    [night, 'phone-dark'],
    [desktopDark, 'browser-dark'],
  ] as const) {
    await page.getByText('Both are fixed').waitFor();
    await page.screenshot({ path: join(IMAGES, `${name}.png`) });
  }
});

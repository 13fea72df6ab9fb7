// Draws the pictures of the documentation. Runs only with PARLEY_SCREENSHOTS=1, which writes them to docs/images. The
// pictures show the path of the workspace, so it is a plain one, which must not exist before.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { serveSession } from '../live/support.ts';
import { DESKTOP, noBrowser, PHONE, visit } from './support.ts';

const skip = process.env['PARLEY_SCREENSHOTS'] === '1' ? noBrowser : 'only draws pictures';
const IMAGES = join(import.meta.dirname, '../../docs/images');
const WORKSPACE = '/srv/weather';

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

for (const [device, name] of [
  [{ ...PHONE, deviceScaleFactor: 2 }, 'phone'],
  [DESKTOP, 'browser'],
] as const) {
  test(`the pictures of the documentation: ${name}`, { skip }, async (t) => {
    const home = mkdtempSync(join(tmpdir(), 'p-'));
    t.after(() => rmSync(home, { recursive: true, force: true }));
    mkdirSync(WORKSPACE);
    t.after(() => rmSync(WORKSPACE, { recursive: true, force: true }));
    writeFileSync(join(WORKSPACE, 'server.ts'), BEFORE);
    const place = { workspace: WORKSPACE, home };
    const { url, live } = await serveSession(t, { place, script: SCRIPT });
    const terminal = live.join({ kind: 'terminal', name: 'terminal' });
    const { page: light } = await visit(t, url, { ...device, colorScheme: 'light' });
    const { page: dark } = await visit(t, url, { ...device, colorScheme: 'dark' });
    await light.getByText('You and 2 more').waitFor();
    await dark.getByText('You and 2 more').waitFor();
    await terminal.prompt('Look at server.ts: is anything wrong with it?');
    const allow = light.getByRole('button', { name: 'Allow once' }).and(light.locator(':enabled'));
    await allow.waitFor();
    await light.screenshot({ path: join(IMAGES, `${name}-approves.png`) });
    await allow.click();
    await allow.waitFor();
    await allow.click();
    await dark.getByText('Both are fixed').waitFor();
    await dark.screenshot({ path: join(IMAGES, `${name}-dark.png`) });
  });
}

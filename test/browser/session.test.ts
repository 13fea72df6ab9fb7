import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { serveSession } from '../live/support.ts';
import { noBrowser, visit, DESKTOP } from './support.ts';

const SCRIPT: ScriptedResponse[] = [
  [
    { thought: { subject: 'Reading the server', description: 'It listens on **all** addresses.' } },
    {
      text: 'I will make the server listen on `127.0.0.1` only.\n\n```ts\nconst host = "127.0.0.1"; // loopback\n```\n\n| a | b |\n|---|---|\n| 1 | [x](https://e.example/y) |\n',
    },
    {
      call: {
        name: 'write_file',
        args: {
          path: 'server.ts',
          content:
            'import { createServer } from "node:http";\n\n// only loopback\nconst host = "127.0.0.1";\ncreateServer().listen(4000, host);\n',
        },
      },
    },
  ],
  [{ text: 'Done: the server listens on loopback only.' }],
];
test('x', { skip: noBrowser }, async (t) => {
  const { url } = await serveSession(t, { script: SCRIPT });
  const { page, trouble } = await visit(t, url);
  await page.getByPlaceholder('Ask for something').fill('Make the server listen on loopback only');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('button', { name: 'Allow once' }).waitFor();
  await page.waitForTimeout(600);
  await page.screenshot({ path: '/tmp/c1-phone.png' });
  await page.getByRole('button', { name: 'Allow once' }).click();
  await page.getByText('Done: the server').waitFor();
  await page.screenshot({ path: '/tmp/c1-phone2.png' });
  const d = await visit(t, url, { ...DESKTOP, colorScheme: 'dark' });
  await d.page.getByText('Done: the server').waitFor();
  await d.page.screenshot({ path: '/tmp/c1-desk.png' });
  assert.deepEqual(trouble, []);
  assert.deepEqual(d.trouble, []);
});

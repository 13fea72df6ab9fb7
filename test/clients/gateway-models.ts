/** A gateway in front of a fake vendor, for programs that use a model: what each of them does in one turn. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { startGateway } from '../support/gateway.ts';
import { tries } from '../support/interop-table.ts';
import { anthropic } from '../support/vendors/anthropic.ts';
import { google } from '../support/vendors/google.ts';
import { openai } from '../support/vendors/openai.ts';
import { openaiCompatible } from '../support/vendors/openai-compatible.ts';
import { fakeVendor } from '../support/vendors/server.ts';

const VENDORS = [
  { type: 'openai', wire: openai, path: '/v1', sign: 'enc-1' },
  { type: 'anthropic', wire: anthropic, path: '/v1', sign: 'sig-1' },
  { type: 'google', wire: google, path: '/v1beta', sign: 'c2lnLTE=' },
  { type: 'openai-compatible', wire: openaiCompatible, path: '/v1', sign: undefined },
] as const;

/** What the tool returns. The model answers only after it has got this. */
export const NOTE = 'quince-4711';
/** What the model says at last. */
export const ANSWER = 'It is sunny.';

export interface Place {
  /** The gateway's address, without a path. */
  readonly url: string;
  readonly key: string;
  /** The name of the model. */
  readonly model: string;
  /** An empty home. */
  readonly home: string;
  /** A folder with a file that contains the note. */
  readonly work: string;
  readonly file: string;
}

export interface Peer {
  /** The program, with its version. */
  readonly name: string;
  /** The name of the model for its callers. */
  readonly model?: string;
  /** The program sends the thoughts back with the result of the tool, so that the vendor gets its signature. */
  readonly keepsThoughts?: boolean;
  /** The call of a tool that returns the note. */
  call(place: Place): { readonly name: string; readonly args: object };
  /** Runs one turn, and returns what the program says. */
  run(place: Place, t: TestContext): Promise<string>;
}

/** Tests a program with a model of each vendor. */
export function tryModels(peer: Peer): void {
  for (const { type, wire, path, sign } of VENDORS) {
    test(`${peer.name} calls a tool for a model of ${type}, and gets the answer`, async (t) => {
      tries(t, { protocol: 'gateway', peer: peer.name, role: 'client', operation: type });
      const home = mkdtempSync(join(tmpdir(), 'parley-model-client-'));
      t.after(() => rmSync(home, { recursive: true, force: true, maxRetries: 3 }));
      const work = join(home, 'work');
      const file = join(work, 'note.txt');
      mkdirSync(work);
      writeFileSync(file, `${NOTE}\n`);
      let hasResult = false;
      await using vendor = await fakeVendor(({ body }) => {
        const request = JSON.stringify(body);
        hasResult ||= request.includes(NOTE);
        const { name, args } = peer.call(place);
        // A request without the tool is for something else, such as a title.
        const isTurn = request.includes(`"name":"${name}"`) && !request.includes(NOTE);
        return { events: isTurn ? wire.call(name, args) : wire.answer };
      });
      const { model = 'house' } = peer;
      const provider = { type, baseUrl: vendor.url + path, apiKey: 'vendor-key', attempts: 1 };
      await using gateway = await startGateway({
        config: {
          providers: { p: { ...provider, models: [] } },
          models: { [model]: { provider: 'p', model: wire.model.slice(type.length + 1) } },
        },
      });
      const place = {
        url: new URL(gateway.url).origin,
        key: gateway.key(),
        model,
        home,
        work,
        file,
      };
      const said = await peer.run(place, t);
      const asked = () => vendor.asked.map(({ body }) => JSON.stringify(body)).join('\n');
      assert.ok(hasResult, `the model did not get the note: ${said}\n${asked().slice(-4000)}`);
      assert.ok(said.includes(ANSWER), said);
      if (peer.keepsThoughts === true && sign !== undefined)
        assert.ok(asked().includes(sign), 'the thoughts did not come back');
      const metrics = await (await gateway.ask(place.key, 'GET', '/metrics')).text();
      const refused = /^parley_http_requests_total\{.*status="[45].*/gm;
      assert.deepEqual(metrics.match(refused), null, 'the gateway refused requests');
    });
  }
}

/** Nothing listens here, so a program that wants to reach other hosts cannot. */
const NO_NETWORK = { HTTP_PROXY: 'http://127.0.0.1:9', HTTPS_PROXY: 'http://127.0.0.1:9' };

/** Runs a command in the folder with the note, and returns its output. Its environment has nothing of ours. */
export async function runCommand(
  { home, work }: Place,
  t: TestContext,
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const { PATH = '' } = process.env;
  const child = spawn(command, args, {
    cwd: work,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH, HOME: home, NO_COLOR: '1', ...NO_NETWORK, NO_PROXY: '127.0.0.1', ...env },
    signal: AbortSignal.any([t.signal, AbortSignal.timeout(90_000)]),
    killSignal: 'SIGKILL',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  await new Promise((resolve) => {
    child.once('error', (error) => resolve((output += `\n${error.message}`)));
    child.once('close', resolve);
  });
  return output;
}

import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { assertRefused, parley } from './support.ts';

const manifest = await import('../../package.json', { with: { type: 'json' } });

const COMMANDS =
  'attach acp serve gateway send watch get list cancel card sessions export trust doctor push db'.split(
    ' ',
  );

describe('the command line', { concurrency: 3 }, () => {
  test('--version prints the version', async () => {
    const { code, out } = await parley(['--version']);
    assert.deepEqual({ code, out }, { code: 0, out: `${manifest.default.version}\n` });
  });

  test('--help lists the commands that there are, with an example', async () => {
    const { code, out } = await parley(['--help']);
    assert.equal(code, 0);
    for (const name of COMMANDS) {
      assert.match(out, new RegExp(`parley ${name}\\b`));
    }
    assert.match(out, /Examples\n {2}parley "why/);
  });

  test('the terminal and a single turn work in one folder', async () => {
    for (const [what, args] of [
      ['the terminal UI', ['--plain']],
      ['parley -p', ['-p', 'list']],
    ] as const) {
      const two = [...args, '--workspace', '/', '--workspace', '/tmp'];
      const says = new RegExp(`^parley: ${what} works in one folder: use --workspace only once\n$`);
      assertRefused(await parley(two, { input: '' }), 2, says);
      const { out } = await parley([...args, '--help']);
      assert.match(out, /^ {2}--workspace DIR {2}/m);
    }
    assert.match((await parley(['serve', '--help'])).out, /^ {2}--workspace DIR … {2}/m);
  });

  test('--help lists the flags of the terminal, which need no command', async () => {
    const { out } = await parley(['--help']);
    assert.match(out, /Flags of parley without a command\n/);
    for (const flag of ['-c, --continue', '--resume [ID]', '--model M', '--approval MODE']) {
      assert.ok(out.includes(`  ${flag}  `), flag);
    }
  });

  for (const name of COMMANDS) {
    test(`${name} --help shows its flags and an example`, async () => {
      const { code, out, err } = await parley([name, '--help']);
      assert.deepEqual({ code, err }, { code: 0, err: '' });
      assert.match(out, /Flags\n {2}--\w/);
      assert.match(out, new RegExp(`Examples\\n {2}parley ${name}`));
    });
  }

  test('--help names a variable only for flags that have one', async () => {
    const list = await parley(['keys', 'list', '--help']);
    assert.match(
      list.out,
      /^Each flag except --workspace can be set .* PARLEY_STORE for --store\.$/m,
    );
    const send = await parley(['get', '--help']);
    assert.match(send.out, /^Each flag except --token can be set .* PARLEY_JSON for --json\.$/m);
    const { out } = await parley(['completion', '--help']);
    assert.doesNotMatch(out, /PARLEY_/);
  });

  const wrong: [sentence: string, args: string[], says: RegExp][] = [
    ['an unknown command', ['sned'], /unknown command "sned": did you mean parley send\?/],
    [
      'an unknown action',
      ['keys', 'update'],
      /unknown action "update": parley keys --help lists the actions/,
    ],
    ['an action that is missing', ['db'], /parley db needs ACTION, for example: parley db migrate/],
    ['an unknown flag', ['serve', '--prot', '1'], /unknown flag --prot: did you mean --port\?/],
    [
      'an unknown flag of parley alone',
      ['--a2a-prot', '1'],
      /did you mean --a2a-port\? parley --help lists the flags/,
    ],
    [
      'a prompt without quotes',
      ['fix', 'it'],
      /unknown command "fix": if this is a prompt, put it in quotes/,
    ],
    [
      'a command after flags of the terminal',
      ['--model', 'offline', 'serve'],
      /write the command before its flags: parley serve/,
    ],
    ['a prompt without a terminal', ['fix it'], /no terminal: use parley -p/],
    ['a prompt of one word', ['hello'], /to send it as a prompt, write parley -- hello/],
    ['two sessions for -p', ['-p', 'x', '-c', '--resume', 'y'], /--continue and --resume cannot/],
    ['nothing to continue', ['-p', 'x', '-c'], /start one without --resume or --continue/],
    ['two sessions at once', ['-c', '--resume', 'x', '--plain'], /--continue and --resume cannot/],
    ['a flag without its value', ['serve', '--port'], /--port needs a value/],
    ['a value that is no port', ['serve', '--port', '70000'], /from 0 to 65535/],
    ['parley without a terminal', [], /no terminal: use parley -p .* parley serve/],
    ['attach without a terminal', ['attach', 'http://localhost:1'], /no terminal: .*--plain/],
    ['attach to what is no address', ['attach', 'x', '--plain'], /write it as http:/],
    ['off loopback without a live token', ['--a2a-port', '0', '--a2a-host', '::'], /a2a-token/],
    ['a live token without roles', ['--a2a-port', '0', '--a2a-token', 'a:b'], /NAME:ROLES:TOKEN/],
    ['a live port that is none', ['--a2a-port', 'x'], /--a2a-port x: use a whole number/],
    ['a prompt that is empty', ['-p'], /the prompt is empty/],
    ['an output that is none', ['-p', 'x', '--output', 'xml'], /text, json, stream-json/],
    ['a mode that is none', ['-p', 'x', '--approval', 'never'], /ask, auto-edit, yolo, plan/],
    ['a model that is none', ['-p', 'x', '--model', 'gemini'], /unknown model "gemini"/],
    ['a model without its key', ['serve', '--model', 'google:x'], /needs GEMINI_API_KEY/],
    ['a workspace that is not there', ['serve', '--workspace', '/no'], /\/no: no such/],
    ['a session that is not there', ['-p', 'x', '--resume', 'none'], /no session none: parley ses/],
    [
      'no session to resume',
      ['-p', 'x', '--resume'],
      /no session in .* yet: start one without --resume/,
    ],
    ['an unknown session to print', ['export', 'none'], /there is no session none/],
    ['an agent that is not there', ['serve', '--agent', 'nobody'], /no agent "nobody"/],
    ['a folder as an agent', ['serve', '--agent', '.'], /no agent "\."/],
    ['a store that is none', ['serve', '--store', 'paper'], /use memory, sqlite:PATH or postgres:/],
    ['a durability that is none', ['serve', '--durability', 'x'], /normal or full/],
    ['a network that is none', ['serve', '--allow-network', 'x'], /--allow-network: "x"/],
    ['a public URL without a scheme', ['serve', '--public-url', 'x.org'], /https:\/\//],
    ['a public URL with a password', ['gateway', '--public-url', 'http://u:p@x.org'], /remove the/],
    ['a public URL with a query', ['serve', '--public-url', 'http://x.org/?a=b'], /remove the/],
    ['keys that are not there', ['serve', '--keys', '/none'], /--keys \/none: no such/],
    ['a token and keys', ['serve', '--token', 'a', '--keys', 'b'], /either --token or --keys/],
    ['off loopback without a token', ['serve', '--host', '0.0.0.0'], /add --token T or --keys/],
    ['no address', ['send'], /parley send needs URL/],
    ['an address without a scheme', ['get', 'localhost:1', 'x'], /write it as http:\/\//],
    ['too many words', ['send', 'http://127.0.0.1:9', 'a', 'b'], /put the text in quotes/],
    [
      'data that is not JSON',
      ['send', 'http://127.0.0.1:9', '--data', '{'],
      /--data is not valid JSON/,
    ],
    ['metadata that is no object', ['send', 'http://x', 'a', '--metadata', '1'], /a JSON object/],
    ['nothing to send', ['send', 'http://127.0.0.1:9'], /no text to send/],
    ['a header without a colon', ['list', 'http://x', '--header', 'x'], /--header 'Name: value'/],
    [
      'an address with credentials',
      ['list', 'http://ann:secret@x'],
      /the URL of x contains credentials: pass them with --token or --header/,
    ],
    [
      'an origin that is none',
      ['list', 'http://x', '--trusted-origin', 'api.example'],
      /--trusted-origin "api\.example": write it as https/,
    ],
    ['a version that is none', ['list', 'http://x', '--a2a-version', '2'], /0\.3 or 1\.0/],
  ];
  for (const [sentence, args, says] of wrong) {
    test(`${sentence}: one line and exit code 2`, async () => {
      assertRefused(await parley(args), 2, says);
    });
  }

  test('a variable that is neither yes nor no: one line and exit code 2', async () => {
    const ended = await parley(['serve'], { env: { PARLEY_JSON: 'maybe' } });
    assertRefused(ended, 2, /PARLEY_JSON=maybe is invalid/);
  });

  test('a port in use: one line that says what to do, and exit code 2', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    assert.ok(typeof address === 'object' && address);
    const { port } = address;
    const ended = await parley(['serve', '--store', 'memory', '--port', String(port)]);
    server.close();
    assertRefused(ended, 2, new RegExp(`port ${port} is in use: .*--port`));
  });

  test('no connection: one line and exit code 4', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    assert.ok(typeof address === 'object' && address);
    server.close();
    const ended = await parley(['send', `http://127.0.0.1:${address.port}`, 'hi']);
    assertRefused(ended, 4, /cannot reach .*is the agent running/);
  });
});

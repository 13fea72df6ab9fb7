// `parley serve --agent FILE` with an agent of the framework: what it takes, keeps and refuses.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { connect } from '../../src/client/index.ts';
import { textOf } from '../../src/protocol/index.ts';
import { assertRefused, type Ended, folder, parley, serving } from './support.ts';

const NO_KEYS = {
  ANTHROPIC_API_KEY: '',
  GEMINI_API_KEY: '',
  GOOGLE_API_KEY: '',
  OPENAI_API_KEY: '',
};

const AGENT = `import { customAgent, llmAgent, RichResponse, sequentialAgent, tool } from 'parley-a2a/agent';
import { z } from 'zod';
`;

/** A file in a folder where neither parley-a2a nor zod is installed. */
function file(name: string, text: string): string {
  const place = path.join(folder, 'framework', name);
  mkdirSync(path.dirname(place), { recursive: true });
  writeFileSync(place, text);
  return place;
}

function agentFile(name: string, text: string): string {
  return file(name, AGENT + text);
}

function refused(name: string, ...more: string[]): Promise<Ended> {
  const args = ['serve', '--agent', name, '--port', '0', '--store', 'memory', ...more];
  return parley(args, { env: NO_KEYS });
}

describe('parley serve with an agent of the framework', { concurrency: 3 }, () => {
  test('send shows the question, also behind what the agent said before it', async () => {
    const name = agentFile(
      'planner.ts',
      `export default customAgent({ name: 'planner' }, async function* (ctx) {
         yield 'Let me see.';
         yield ctx.question('city', { text: 'Which city?' });
       });`,
    );
    const server = await serving(['--agent', name, '--store', 'memory'], { env: NO_KEYS });
    for (const flags of [[], ['--stream']]) {
      const { out: stdout } = await parley(['send', server.url, 'go', ...flags]);
      assert.match(stdout, /Let me see\.\s+Which city\?/);
    }
    await server.stop();
  });

  test('send shows a question once that the agent has already said', async () => {
    const name = agentFile(
      'repeating.ts',
      `export default customAgent({ name: 'repeating' }, async function* (ctx) {
         yield 'Let me see. Which city?';
         yield ctx.question('city', { text: 'Which city?' });
       });`,
    );
    const server = await serving(['--agent', name, '--store', 'memory'], { env: NO_KEYS });
    for (const flags of [[], ['--stream']]) {
      const { out: stdout } = await parley(['send', server.url, 'go', ...flags]);
      assert.equal(stdout.trim(), 'Let me see. Which city?');
    }
    await server.stop();
  });

  test('asks, shows, remembers: by file, where nothing is installed', async () => {
    const name = agentFile(
      'host.ts',
      `const seat = tool({
         name: 'get_table',
         description: 'Finds a table',
         input: z.object({}),
         run(_, context) {
           if (!context.answer) return context.ask({ text: 'For how many?' });
           const before = Number(context.state.get('tables') ?? 0);
           context.state.set('tables', before + 1);
           return new RichResponse(\`table \${before + 1} for \${context.answer.value}\`, { display: 'shown' });
         },
       });
       export default llmAgent({ name: 'host', description: 'Seats guests', tools: [seat] });`,
    );
    const store = path.join(folder, 'host.db');
    const args = ['--agent', name, '--store', `sqlite:${store}`];
    const tables: string[] = [];
    let contextId: string | undefined;
    for (const guests of ['2', '5']) {
      const server = await serving(args, { env: NO_KEYS });
      await using client = await connect(server.url, { version: '0.3' });
      const asked = await client.send(
        'a table, please',
        contextId === undefined ? {} : { contextId },
      );
      assert.ok(asked.kind === 'task');
      assert.equal(asked.status.state, 'input-required');
      ({ contextId } = asked);
      const done = await client.send(guests, { taskId: asked.id });
      assert.ok(done.kind === 'task');
      tables.push(textOf(done.status.message?.parts ?? []));
      assert.equal((await server.stop()).code, 0);
    }
    assert.deepEqual(tables, [
      'get_table returned:\ntable 1 for 2',
      'get_table returned:\ntable 2 for 5',
    ]);
    assert.ok(existsSync(`${store}.sessions`));
  });

  test('the model of the flag is for agents that name none', async () => {
    const script = file('script.json', JSON.stringify([[{ text: 'from the script' }]]));
    const name = agentFile(
      'two-models.ts',
      `const own = llmAgent({ name: 'own', description: '', model: 'offline' });
       const other = llmAgent({ name: 'other', description: '' });
       export default sequentialAgent({ name: 'both', description: '', subAgents: [own, other] });`,
    );
    const server = await serving(['--agent', name, '--model', `scripted:${script}`], {
      env: { ...NO_KEYS, PARLEY_MODEL: 'offline' },
    });
    const { out } = await parley(['send', server.url, 'hello']);
    assert.match(out, /^You said: "hello"[^]*\nfrom the script\n$/);
    await server.stop();
  });

  test('users do not share a session, though they name the same context', async () => {
    const name = agentFile(
      'count.ts',
      `export default customAgent({ name: 'count', description: 'Counts' }, async function* (ctx) {
         yield String(ctx.events.filter(({ author }) => author === 'user').length);
       });`,
    );
    const keys = file('keys.txt', 'ann:ann-has-a-long-token\nbob:bob-has-a-long-token\n');
    const server = await serving(['--agent', name, '--keys', keys]);
    const say = async (user: string) => {
      const headers = { authorization: `Bearer ${user}-has-a-long-token` };
      await using client = await connect(server.url, { headers });
      return await client.send('hello', { contextId: 'the-same' }).text();
    };
    assert.deepEqual([await say('ann'), await say('ann'), await say('bob')], ['1', '2', '1']);
    await server.stop();
  });

  const bad: [sentence: string, text: string, says: RegExp][] = [
    ['has no default export', 'export const a = 1;', /has no default export: export default/],
    ['exports a function', 'export default () => 1;', /exports a function, which is not an agent/],
    [
      'exports nothing of use',
      'export default { run: 1 };',
      /exports an object, which is not an agent/,
    ],
    [
      'has two agents of one name',
      `const one = llmAgent({ name: 'a', description: '' });
       const two = llmAgent({ name: 'a', description: '' });
       export default sequentialAgent({ name: 'both', description: '', subAgents: [one, two] });`,
      /cannot serve both: two agents have the name a: /,
    ],
    [
      'names a vendor whose key is missing',
      "export default llmAgent({ name: 'a', description: '', model: 'google:gemini-3.8-flash' });",
      /cannot serve a: google:gemini-3\.8-flash needs GEMINI_API_KEY: set it/,
    ],
    [
      'names no model that there is',
      "\nexport default llmAgent({ name: 'a', description: '', model: 'goggle:x' });",
      /no-model-that-there-is\.ts:4: ModelError: unknown model "goggle:x": did you mean/,
    ],
    ['has a slip', '\n\nexport default llmAgent({;', /has-a-slip\.ts:5: SyntaxError: /],
  ];
  for (const [sentence, text, says] of bad) {
    test(`a file that ${sentence}: one line and exit code 2`, async () => {
      const name = agentFile(`${sentence.replaceAll(' ', '-')}.ts`, text);
      assertRefused(await refused(name), 2, says);
    });
  }

  test('a slip in plain JavaScript, or in a file that is imported, is found by its line', async () => {
    const plain = file('slip.mjs', '\nexport default (;');
    assertRefused(await refused(plain), 2, /cannot load .*slip\.mjs:2: SyntaxError: /);
    file('part.ts', '\n\nexport const x = ;');
    const whole = file('whole.ts', "import './part.ts';");
    assertRefused(await refused(whole), 2, /cannot load .*part\.ts:3: SyntaxError: /);
  });

  test('--model: a name that is none, a key that is missing, a script that is not there', async () => {
    const name = agentFile('plain.ts', "export default llmAgent({ name: 'a', description: '' });");
    const cases: [model: string, says: RegExp][] = [
      ['nonsense', /cannot serve a: unknown model "nonsense"/],
      ['anthropic:claude-x', /cannot serve a: anthropic:claude-x needs ANTHROPIC_API_KEY/],
      ['scripted:nowhere.json', /cannot serve a: cannot read the script nowhere\.json/],
    ];
    for (const [model, says] of cases) {
      assertRefused(await refused(name, '--model', model), 2, says);
    }
  });

  test('a store for sessions that is none: one line and exit code 2', async () => {
    const name = agentFile(
      'plain-too.ts',
      "export default llmAgent({ name: 'a', description: '' });",
    );
    const store = path.join(folder, 'taken.db');
    writeFileSync(`${store}.sessions`, 'this is no database, and has been here for longer');
    const ended = await refused(name, '--store', `sqlite:${store}`);
    assertRefused(ended, 2, /cannot serve a: .*taken\.db\.sessions/);
  });

  test('--help shows how', async () => {
    const { out } = await parley(['serve', '--help']);
    assert.match(
      out,
      /--model M +The model of the coder and of agents without a model: google:NAME, .*offline, scripted:FILE/,
    );
    assert.match(out, /parley serve --agent \.\/examples\/weather\/agent\.ts/);
  });
});

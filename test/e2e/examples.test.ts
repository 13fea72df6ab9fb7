/** Each example, run as its head says and talked to by our client: with no key, and with the script beside it. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { connect, type RemoteAgentClient } from '../../src/client/index.ts';
import { type Task, textOf } from '../../src/protocol/index.ts';
import { folder, type Options, type Served, serving, startProgram } from '../cli/support.ts';

const EXAMPLES = path.resolve(import.meta.dirname, '../../examples');
/** Whatever keys the machine has, no vendor is asked. */
const NO_KEYS = {
  ANTHROPIC_API_KEY: '',
  GEMINI_API_KEY: '',
  GOOGLE_API_KEY: '',
  OPENAI_API_KEY: '',
};

const file = (...names: string[]) => path.join(EXAMPLES, ...names);
const script = (name: string) => `scripted:${file(name, 'script.json')}`;

interface Use {
  readonly model?: string;
  readonly args?: readonly string[];
  readonly env?: Options['env'];
}

async function served(t: TestContext, name: string, use: Use = {}): Promise<Served> {
  const { model, args = [], env } = use;
  const server = await serving(
    [
      '--agent',
      file(name, 'agent.ts'),
      ...(model === undefined ? [] : ['--model', model]),
      ...args,
    ],
    { env: { ...NO_KEYS, ...env } },
  );
  t.after(() => server.stop('SIGKILL'));
  return server;
}

async function connected(t: TestContext, url: string): Promise<RemoteAgentClient> {
  // In 0.3, the result of message/send has the final answer in its status.
  const client = await connect(url, { version: '0.3' });
  t.after(() => client.close());
  return client;
}

/** Serves the example and sends it this. */
async function answer(t: TestContext, name: string, said: string, use?: Use): Promise<Task> {
  const client = await connected(t, (await served(t, name, use)).url);
  return taskOf(await client.send(said));
}

function taskOf(answer: { readonly kind: string }): Task {
  assert.equal(answer.kind, 'task');
  return answer as Task;
}

function finalText({ status }: Task): string {
  return textOf(status.message?.parts ?? []);
}

/** What was said, by whom. */
function said({ artifacts = [] }: Task): (readonly [author: unknown, text: string])[] {
  return artifacts.map(({ metadata, parts }) => [metadata?.['parley.author'], textOf(parts)]);
}

describe('examples', { concurrency: 2 }, () => {
  test('weather: the card is made from the name, the description and the tool', async (t) => {
    const { card } = await connected(t, (await served(t, 'weather')).url);
    assert.equal(card.name, 'weather');
    assert.equal(card.description, 'Knows the weather in a few cities');
    assert.deepEqual(
      card.skills.map(({ name, description }) => [name, description]),
      [
        ['weather', 'Knows the weather in a few cities'],
        ['get_weather', 'The current weather in a city'],
      ],
    );
  });

  test('weather: with no key the tool is called', async (t) => {
    const task = await answer(t, 'weather', 'What is the weather in Paris?');
    assert.equal(task.status.state, 'completed');
    assert.match(finalText(task), /Paris: Sunny, 21 °C/);
  });

  test('weather: a city that it does not know is no failure', async (t) => {
    const task = await answer(t, 'weather', 'What is the weather in Atlantis?');
    assert.equal(task.status.state, 'completed');
    assert.match(finalText(task), /no weather station in Atlantis/);
  });

  test('weather: by its script', async (t) => {
    const task = await answer(t, 'weather', 'Paris?', { env: { PARLEY_MODEL: script('weather') } });
    assert.equal(finalText(task), 'It is sunny in Paris, at 21 °C.');
  });

  test('writer-critic: with no key the second draft is short enough', async (t) => {
    const task = await answer(t, 'writer-critic', 'A slogan for a tea house');
    assert.deepEqual(said(task), [
      ['writer', 'get_slogan returned:\nThe finest tea that money can buy in the whole town'],
      ['critic', 'A slogan has at most 8 words, this one has 13.'],
      ['writer', 'get_slogan returned:\nSlow down, the kettle is on'],
    ]);
    assert.equal(finalText(task), 'get_slogan returned:\nSlow down, the kettle is on');
  });

  test('writer-critic: by its script', async (t) => {
    const task = await answer(t, 'writer-critic', 'A slogan', { model: script('writer-critic') });
    assert.equal(finalText(task), 'Tea. Nothing else.');
  });

  test('research-team: with no key three books are read, and the editor has them all', async (t) => {
    const task = await answer(t, 'research-team', 'Look up tea');
    const authors = said(task).map(([author]) => author);
    assert.deepEqual(new Set(authors.slice(0, 3)), new Set(['history', 'chemistry', 'economics']));
    assert.equal(authors[3], 'editor');
    assert.match(finalText(task), /around 1610.*oxidation makes.*China grows/s);
  });

  test('research-team: by its script', async (t) => {
    const task = await answer(t, 'research-team', 'Tea?', { model: script('research-team') });
    assert.match(finalText(task), /^Tea is old/);
  });

  test('trip-planner: asks, and goes on with the answer after a restart', async (t) => {
    const args = ['--store', `sqlite:${path.join(folder, 'trips.db')}`];
    const first = await served(t, 'trip-planner', { args });
    const asked = taskOf(await (await connected(t, first.url)).send('Plan a trip to Rome'));
    assert.equal(asked.status.state, 'input-required');
    assert.match(finalText(asked), /^How many days do you have for Rome\?[^]*Options: 1, 2, 3/);
    await first.stop('SIGKILL');

    const client = await connected(t, (await served(t, 'trip-planner', { args })).url);
    const wrong = taskOf(await client.send('ninety', { taskId: asked.id }));
    assert.equal(wrong.status.state, 'input-required');
    const done = taskOf(await client.send('2', { taskId: asked.id }));
    assert.equal(done.status.state, 'completed');
    assert.match(finalText(done), /Day 1: the Forum and the Colosseum\nDay 2: the Vatican$/);
  });

  test('trip-planner: by its script', async (t) => {
    const { url } = await served(t, 'trip-planner', { model: script('trip-planner') });
    const client = await connected(t, url);
    const asked = taskOf(await client.send('A trip to Rome'));
    const done = taskOf(await client.send('2', { taskId: asked.id }));
    assert.match(finalText(done), /Have a good trip!$/);
  });

  test('two-processes: the remote answers, and the local one has heard it', async (t) => {
    const remote = await served(t, 'weather');
    const env = { WEATHER_URL: remote.url };
    const task = await answer(t, 'two-processes', 'What is the weather in London?', { env });
    assert.deepEqual(said(task), [
      ['weather', 'get_weather returned:\nLondon: Rain, 12 °C'],
      ['packer', 'Take an umbrella.'],
    ]);
  });

  test('two-processes: without the other process it fails, and does not say why to peers', async (t) => {
    const gone = await served(t, 'weather');
    await gone.stop();
    const env = { WEATHER_URL: gone.url };
    const task = await answer(t, 'two-processes', 'What is the weather in London?', { env });
    assert.equal(task.status.state, 'failed');
    assert.doesNotMatch(JSON.stringify(task), /127\.0\.0\.1/);
  });

  test('express: the agent is at /agent, and the app beside it', async (t) => {
    const { child, saying, ended } = startProgram(file('express', 'server.ts'), [], {
      env: { ...NO_KEYS, PORT: '0' },
    });
    t.after(() => {
      child.kill('SIGKILL');
      return ended;
    });
    const [, url = ''] = await saying(/^(\S+)\n/);
    assert.match(await (await fetch(new URL('/', url))).text(), /The agent is at/);
    const client = await connected(t, url);
    assert.match(await client.send('weather in Reykjavik').text(), /Snow/);
  });

  test('fetch-handler: answers without a port, and ends', async () => {
    const { ended } = startProgram(file('fetch-handler', 'ask.ts'), ['weather in London'], {
      env: NO_KEYS,
    });
    const { code, out, err } = await ended;
    assert.deepEqual({ code, err }, { code: 0, err: '' });
    assert.equal(out, 'get_weather returned:\nLondon: Rain, 12 °C\n');
  });
});

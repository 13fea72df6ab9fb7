/**
 * A loop: a writer writes a draft, and a critic checks it. The loop ends when the critic accepts the draft
 * (`escalate`), or after three rounds.
 *
 *   npx parley serve --agent examples/writer-critic/agent.ts --port 4000
 *   npx parley send http://localhost:4000 "A slogan for a tea house" --stream
 *
 * The writer is a model. The critic is a function that counts words. They share the draft in the state.
 */
import { customAgent, llmAgent, loopAgent, tool } from 'parley-a2a/agent';
import { z } from 'zod';

const MAX_WORDS = 8;
const NOTEBOOK = [
  'The finest tea that money can buy in the whole town',
  'Slow down, the kettle is on',
];

const getSlogan = tool({
  name: 'get_slogan',
  description: 'The next line from the notebook, as a starting point',
  input: z.object({}),
  run(_, { state }) {
    const taken = Number(state.get('taken') ?? 0);
    state.set('taken', taken + 1);
    return NOTEBOOK[taken % NOTEBOOK.length];
  },
});

const writer = llmAgent({
  name: 'writer',
  description: 'Writes slogans',
  instruction: 'Write a slogan. Follow the advice of the critic. Answer only with the slogan.',
  tools: [getSlogan],
  outputKey: 'draft',
});

const critic = customAgent(
  { name: 'critic', description: 'Counts words' },
  async function* ({ state }) {
    const draft = state.get('draft');
    const words = typeof draft === 'string' ? draft.split(/\s+/).length : 0;
    if (words <= MAX_WORDS) yield { actions: { escalate: true } };
    else yield `A slogan has at most ${MAX_WORDS} words, this one has ${words}.`;
  },
);

export default loopAgent({
  name: 'writer-critic',
  description: 'Writes a slogan, and shortens it until it is short enough',
  subAgents: [writer, critic],
  maxIterations: 3,
});

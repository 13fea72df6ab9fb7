/**
 * Two processes: this agent calls the agent in ../weather over A2A, and adds advice.
 *
 *   npx parley serve --agent examples/weather/agent.ts --port 4001
 *   WEATHER_URL=http://localhost:4001 npx parley serve --agent examples/two-processes/agent.ts --port 4000
 *   npx parley send http://localhost:4000 "What is the weather in London?"
 *
 * A sequence can contain remote agents. The second agent here is a function without a model.
 */
import { customAgent, sequentialAgent, contentText } from 'parley-a2a/agent';
import { remoteAgent } from 'parley-a2a/bridge';

const weather = remoteAgent({
  name: 'weather',
  description: 'Knows the weather in a few cities',
  url: process.env['WEATHER_URL'] ?? 'http://localhost:4001',
});

const packer = customAgent(
  { name: 'packer', description: 'Says what to pack' },
  async function* ({ events }) {
    const said = contentText(events.findLast(({ author }) => author === 'weather')?.content);
    if (/rain/i.test(said)) yield 'Take an umbrella.';
    else if (/snow/i.test(said)) yield 'Take a warm coat.';
    else yield 'Travel light.';
  },
);

export default sequentialAgent({
  name: 'traveller',
  description: 'Says what the weather is like and what to pack',
  subAgents: [weather, packer],
});

/**
 * The weather agent as one route of an Express app.
 *
 *   npm install express
 *   npx node examples/express/server.ts
 *   npx parley send http://localhost:3000/agent "What is the weather in Paris?"
 */
import express from 'express';
import { defaultModelName } from 'parley-a2a/agent';
import { toA2AAgent } from 'parley-a2a/bridge';
import { serve } from 'parley-a2a/server';
import weather from '../weather/agent.ts';

const agent = serve(toA2AAgent(weather, { defaultModel: defaultModelName() }));

const app = express();
app.get('/', (_, response) => void response.send('The agent is at /agent.'));
app.use('/agent', agent.node);

const server = app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  console.log(`http://127.0.0.1:${port}/agent`);
});

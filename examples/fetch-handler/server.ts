/**
 * The weather agent as a fetch handler, for whatever calls one: Deno (`deno serve`), Bun, Hono, a worker.
 *
 * Without a port at all, ask.ts beside this file calls it directly:
 *
 *   npx node examples/fetch-handler/ask.ts "What is the weather in Paris?"
 */
import { defaultModelName } from 'parley-a2a/agent';
import { toA2AAgent } from 'parley-a2a/bridge';
import { serve } from 'parley-a2a/server';
import weather from '../weather/agent.ts';

const { fetch } = serve(toA2AAgent(weather, { defaultModel: defaultModelName() }));

export default { fetch: (request: Request) => fetch(request) };

/**
 * The weather agent as a fetch handler, for Deno (`deno serve`), Bun, Hono or a worker.
 *
 * ask.ts calls the handler directly, without a port:
 *
 *   npx node examples/fetch-handler/ask.ts "What is the weather in Paris?"
 */
import { defaultModelName } from 'parley-a2a/agent';
import { toA2AAgent } from 'parley-a2a/bridge';
import { serve } from 'parley-a2a/server';
import weather from '../weather/agent.ts';

const { fetch } = serve(toA2AAgent(weather, { defaultModel: defaultModelName() }));

export default { fetch: (request: Request) => fetch(request) };

/**
 * An LLM agent with one tool.
 *
 *   npx parley serve --agent examples/weather/agent.ts --port 4000
 *   npx parley send http://localhost:4000 "What is the weather in Paris?"
 */
import { llmAgent, tool } from 'parley-a2a/agent';
import { z } from 'zod';

const WEATHER: Readonly<Record<string, string>> = {
  london: 'Rain, 12 °C',
  paris: 'Sunny, 21 °C',
  reykjavik: 'Snow, -2 °C',
};

const getWeather = tool({
  name: 'get_weather',
  description: 'The current weather in a city',
  input: z.object({ city: z.string() }),
  run({ city }) {
    const weather = WEATHER[city.toLowerCase()];
    if (weather === undefined) throw new Error(`there is no weather station in ${city}`);
    return `${city}: ${weather}`;
  },
});

export default llmAgent({
  name: 'weather',
  description: 'Knows the weather in a few cities',
  instruction: 'You answer questions about the weather, in one sentence. Always use the tool.',
  tools: [getWeather],
});

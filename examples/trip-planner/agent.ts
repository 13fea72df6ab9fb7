/**
 * An agent that asks a question during its work and continues with the answer, even after a restart.
 *
 *   npx parley serve --agent examples/trip-planner/agent.ts --port 4000
 *   npx parley send http://localhost:4000 "Plan a trip to Rome"          asks a question, and prints how to answer
 *   npx parley send http://localhost:4000 "2" --task ID
 */
import { llmAgent, tool } from 'parley-a2a/agent';
import { z } from 'zod';

const SIGHTS: Readonly<Record<string, readonly string[]>> = {
  lisbon: ['tram 28 and the Alfama', 'Belém', 'Sintra'],
  rome: ['the Forum and the Colosseum', 'the Vatican', 'Ostia Antica'],
};

const planTrip = tool({
  name: 'plan_trip',
  description: 'Plans a trip to a city. Asks the traveller how long the trip should be.',
  input: z.object({ city: z.string() }),
  run({ city }, context) {
    const sights = SIGHTS[city.toLowerCase()];
    if (!sights) throw new Error(`there is no guide to ${city}`);
    const options = sights.map((_, day) => `${day + 1}`);
    // The first call asks the question. When the answer arrives, the tool is called again.
    const days = Number(context.answer?.value);
    if (!options.includes(`${days}`)) {
      return context.ask({ text: `How many days do you have for ${city}?`, options });
    }
    return sights
      .slice(0, days)
      .map((sight, day) => `Day ${day + 1}: ${sight}`)
      .join('\n');
  },
});

export default llmAgent({
  name: 'trip-planner',
  description: 'Plans a trip of a few days',
  instruction: 'You plan trips with the tool. Tell the user its plan, day by day.',
  tools: [planTrip],
});

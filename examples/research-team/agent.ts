/**
 * Three researchers that work in parallel, and an editor that combines their findings.
 *
 *   npx parley serve --agent examples/research-team/agent.ts --port 4000
 *   npx parley send http://localhost:4000 "Look up tea"
 *
 * The researchers do not see each other's answers. Each researcher stores its answer in the state (`outputKey`). The
 * editor's tool reads the answers from there.
 */
import { llmAgent, parallelAgent, sequentialAgent, tool } from 'parley-a2a/agent';
import { z } from 'zod';
import { FIELDS, LIBRARY, type Field } from './library.ts';

function researcher(field: Field) {
  const lookUp = tool({
    name: 'look_up',
    description: `What a book on ${field} says about a subject`,
    input: z.object({ subject: z.string() }),
    run({ subject }) {
      const found = LIBRARY[field][subject.toLowerCase()];
      if (found === undefined) throw new Error(`the book on ${field} has nothing on ${subject}`);
      return `Finding: ${found}`;
    },
  });
  return llmAgent({
    name: field,
    description: `Reads books on ${field}`,
    instruction: `Look the subject up, and say in one sentence what is important from the perspective of ${field}.`,
    tools: [lookUp],
    outputKey: field,
  });
}

const researchers = parallelAgent({
  name: 'researchers',
  description: 'Look at a subject from three perspectives at the same time',
  subAgents: FIELDS.map(researcher),
});

const getFindings = tool({
  name: 'get_findings',
  description: 'What the researchers have found',
  input: z.object({}),
  run: (_, { state }) => Object.fromEntries(FIELDS.map((field) => [field, state.get(field)])),
});

const editor = llmAgent({
  name: 'editor',
  description: 'Writes the summary',
  instruction: 'Write one short paragraph about what the researchers have found.',
  tools: [getFindings],
});

export default sequentialAgent({
  name: 'research-team',
  description: 'Looks up a subject in three fields at the same time, and summarizes the results',
  subAgents: [researchers, editor],
});

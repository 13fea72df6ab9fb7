import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Message, Part } from '../protocol/index.ts';
import type { Question } from '../agent/event.ts';
import { questionMessage, readAnswers } from './question.ts';

const remove: Question = {
  id: 'c1',
  kind: 'confirmation',
  text: 'May I remove this file?',
  agent: 'helper',
  tool: 'remove_file',
  args: { path: 'a.txt' },
};
const city: Question = {
  id: 'c2',
  kind: 'input',
  text: 'Which city?',
  agent: 'helper',
  options: ['Rome', 'Oslo'],
};

function says(...parts: (string | Part)[]): Message {
  return {
    kind: 'message',
    messageId: 'm1',
    role: 'user',
    parts: parts.map((part) => (typeof part === 'string' ? { kind: 'text', text: part } : part)),
  };
}

const data = (value: unknown) => Part.parse({ kind: 'data', data: value });

describe('a question as a message', () => {
  test('says in words what is asked, with the tool and its arguments', () => {
    const [words] = Message.parse(questionMessage([remove])).parts;
    assert.equal(
      words?.kind === 'text' && words.text,
      'May I remove this file?\nTool: remove_file\nArguments: {"path":"a.txt"}\nAnswer yes or no.',
    );
  });

  test('says nothing twice', () => {
    const text = 'May remove_file be called with {"path":"a.txt"}?';
    const [words] = questionMessage([{ ...remove, text }]).parts;
    assert.equal(words?.kind === 'text' && words.text, `${text}\nAnswer yes or no.`);
  });

  test('does not tell a person who is asked something else which call asks', () => {
    const [words] = questionMessage([{ ...city, tool: 'plan_trip', args: { days: 2 } }]).parts;
    assert.equal(words?.kind === 'text' && words.text, 'Which city?\nOptions: Rome, Oslo');
  });

  test('says which answers there are to choose from', () => {
    const [words] = questionMessage([city]).parts;
    assert.equal(words?.kind === 'text' && words.text, 'Which city?\nOptions: Rome, Oslo');
  });

  test('has the questions as data, for programs', () => {
    const [, forPrograms] = questionMessage([remove, city]).parts;
    assert.deepEqual(forPrograms, { kind: 'data', data: { questions: [remove, city] } });
  });

  test('tells several apart and says how to answer them', () => {
    const [words] = questionMessage([remove, city]).parts;
    assert.ok(words?.kind === 'text');
    assert.match(words.text, /^1\. May I remove[^]*Question id: c1[^]*2\. Which city/);
    assert.match(words.text, /Answer each question with a data part/);
  });

  test('cuts long arguments in the words and not in the data', () => {
    const long = { ...remove, args: { text: 'x'.repeat(10_000) } };
    const [words, forPrograms] = questionMessage([long]).parts;
    assert.ok(words?.kind === 'text' && words.text.length < 3000);
    assert.deepEqual(forPrograms, { kind: 'data', data: { questions: [long] } });
  });
});

describe('an answer in words', () => {
  test('is yes or no to a confirmation, in a few spellings', () => {
    for (const [said, confirmed] of [
      ['yes', true],
      ['Yes, please!', true],
      ['no thanks', false],
      [' OK. ', true],
      ['Go ahead!', true],
      ['no', false],
      ['Don’t', false],
      ['Cancel', false],
    ] as const) {
      assert.deepEqual(readAnswers(says(said), [remove]).answers, [
        { questionId: 'c1', confirmed },
      ]);
    }
  });

  test('confirms nothing when it is neither', () => {
    for (const said of ['maybe', 'yes, but not that file', 'not yes', '', 'no yes', 'yes?']) {
      const { answers, problem } = readAnswers(says(said), [remove]);
      assert.deepEqual(answers, []);
      assert.match(problem ?? '', /neither a clear yes nor a clear no/);
    }
  });

  test('is the value of any other question, as the option is spelled', () => {
    assert.deepEqual(readAnswers(says('to Bergen'), [city]).answers, [
      { questionId: 'c2', value: 'to Bergen' },
    ]);
    assert.deepEqual(readAnswers(says('rome '), [city]).answers, [
      { questionId: 'c2', value: 'Rome' },
    ]);
  });

  test('may be data without a question’s id when one question is open', () => {
    assert.deepEqual(readAnswers(says(data({ lat: 1 })), [city]).answers, [
      { questionId: 'c2', value: { lat: 1 } },
    ]);
  });

  test('answers nothing when several questions are open', () => {
    const { answers, problem } = readAnswers(says('yes'), [remove, city]);
    assert.deepEqual(answers, []);
    assert.match(problem ?? '', /Several questions are open/);
  });
});

describe('an answer in data', () => {
  test('names its question, one part for each', () => {
    const message = says(
      data({ questionId: 'c2', value: 'oslo' }),
      data({ questionId: 'c1', confirmed: true, args: { path: 'b.txt' } }),
    );
    assert.deepEqual(readAnswers(message, [remove, city]).answers, [
      { questionId: 'c2', value: 'Oslo' },
      { questionId: 'c1', confirmed: true, args: { path: 'b.txt' } },
    ]);
  });

  test('may say yes or no as a value, or give a reason beside the decision', () => {
    const inWords = readAnswers(says(data({ questionId: 'c1', value: 'no' })), [remove]);
    assert.deepEqual(inWords.answers, [{ questionId: 'c1', confirmed: false }]);
    const reason = { questionId: 'c1', confirmed: false, value: 'it is needed' };
    assert.deepEqual(readAnswers(says(data(reason)), [remove]).answers, [reason]);
  });

  test('counts before the words beside it', () => {
    const message = says('yes', data({ questionId: 'c1', confirmed: false }));
    assert.deepEqual(readAnswers(message, [remove]).answers, [
      { questionId: 'c1', confirmed: false },
    ]);
  });

  test('counts once for each question', () => {
    const [first, second] = [true, false].map((confirmed) => data({ questionId: 'c1', confirmed }));
    assert.deepEqual(readAnswers(says(first!, second!), [remove]).answers, [
      { questionId: 'c1', confirmed: true },
    ]);
  });

  test('goes through where it is clear, though another beside it is not', () => {
    const message = says(
      data({ questionId: 'c1', confirmed: 'perhaps' }),
      data({ questionId: 'c2', value: 1 }),
      data({ questionId: 'nobody asked', confirmed: true }),
    );
    assert.deepEqual(readAnswers(message, [remove, city]).answers, [
      { questionId: 'c2', value: 1 },
    ]);
  });

  test('confirms nothing that is not a plain boolean or a clear word', () => {
    for (const confirmed of [1, 'true', null, {}, []]) {
      const { answers } = readAnswers(says(data({ questionId: 'c1', confirmed })), [remove]);
      assert.deepEqual(answers, []);
    }
    const { answers } = readAnswers(says(data({ questionId: 'c1', confirmed: true, args: [] })), [
      remove,
    ]);
    assert.deepEqual(answers, []);
  });

  test('whatever comes, only open questions are answered, and only true confirms', () => {
    const field = fc.oneof(fc.boolean(), fc.string(), fc.jsonValue({ maxDepth: 1 }));
    const part = fc.record(
      {
        questionId: fc.constantFrom('c1', 'c2', 'c3', 7),
        confirmed: field,
        value: field,
        args: field,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (given) => {
        const { answers, problem } = readAnswers(says(...given.map(data)), [remove, city]);
        assert.equal(new Set(answers.map(({ questionId }) => questionId)).size, answers.length);
        assert.ok(answers.length > 0 || problem !== undefined);
        for (const { questionId, confirmed } of answers) {
          assert.ok(questionId === 'c1' || questionId === 'c2');
          if (questionId === 'c1') assert.equal(typeof confirmed, 'boolean');
        }
      }),
    );
  });
});

test('a text without end is neither a yes nor a no, and is found out at once', () => {
  const since = performance.now();
  assert.deepEqual(readAnswers(says(`${'!'.repeat(200_000)}x`), [remove]).answers, []);
  assert.ok(performance.now() - since < 2000, 'in linear time');
});

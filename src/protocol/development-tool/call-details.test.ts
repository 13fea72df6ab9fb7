import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callDetails } from './call-details.ts';

function detailsOf(
  description: string,
  input_parameters: Record<string, string>,
  tool_name = 'fetch_url',
) {
  const confirmation_request = { options: [], generic_details: { description } };
  return callDetails({ tool_name, input_parameters, confirmation_request });
}

test('an argument that the text ends with is not shown again', () => {
  const details = detailsOf('Fetch https://example.com', { url: 'https://example.com' });
  assert.deepEqual(details, [{ kind: 'text', text: 'Fetch https://example.com' }]);
});

test('an argument whose value is only a part of the text is shown', () => {
  const details = detailsOf('Fetch https://example.com/all', {
    url: 'https://example.com/all',
    method: 'e',
    scope: 'all',
    empty: '',
  });
  assert.deepEqual(details.slice(1), [
    { kind: 'argument', name: 'method', value: 'e' },
    { kind: 'argument', name: 'scope', value: 'all' },
    { kind: 'argument', name: 'empty', value: '' },
  ]);
});

test('the fields of a form of an MCP server are shown once', () => {
  const text =
    'The MCP server a asks: Who?\n- name: text, required\nAnswer with a line for each field.';
  const details = detailsOf(text, { name: 'text, required' }, 'elicitation');
  assert.deepEqual(details, [{ kind: 'text', text }]);
});

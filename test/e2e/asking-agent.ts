import { createAgent } from 'parley-a2a/server';

export default createAgent({ name: 'Trip', description: 'Plans a trip' }, async function* (ctx) {
  yield 'Let me think. ';
  const { text: city } = await ctx.ask('Which city?');
  yield `Off to ${city}!`;
});

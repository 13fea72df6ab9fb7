// Loaded into every server under test: it answers questions about memory over the IPC channel.
process.on('message', (question) => {
  if (question !== 'memory') return;
  globalThis.gc?.();
  globalThis.gc?.();
  process.send?.({ memory: process.memoryUsage() });
});
process.on('disconnect', () => process.exit(0));

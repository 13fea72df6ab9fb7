// This module is loaded into every server under test. It reports the memory usage over the IPC channel.
process.on('message', (question) => {
  if (question !== 'memory') return;
  globalThis.gc?.();
  globalThis.gc?.();
  process.send?.({ memory: process.memoryUsage() });
});
process.on('disconnect', () => process.exit(0));

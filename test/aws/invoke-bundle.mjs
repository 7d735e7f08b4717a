// Loads a bundle as Lambda does and hands it one event: `node invoke-bundle.mjs BUNDLE EVENT_JSON REMAINING_MS`.
const [bundle, event, remainingMs] = process.argv.slice(2);
const { handler } = await import(bundle);
const endsAtMs = Date.now() + Number(remainingMs);
const context = {
  getRemainingTimeInMillis: () => endsAtMs - Date.now(),
  awsRequestId: 'r',
  functionName: 'f',
};
const result = await handler(JSON.parse(event), context);
// A result may be larger than what the pipe takes at once.
process.stdout.write(`\nRESULT ${JSON.stringify(result)}\n`, () => process.exit(0));

// Node's ws: a loop of sends over all clients, without compression.
const readline = require('readline');
const { WebSocketServer } = require('ws');

const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
server.on('listening', () => console.log(server.address().port));
readline.createInterface({ input: process.stdin }).on('line', async (line) => {
  const [, moves, size] = line.split(' ');
  const message = Buffer.alloc(Number(size));
  for (let move = 0; move < Number(moves); move++) {
    for (const client of server.clients) client.send(message);
    await new Promise(setImmediate);
  }
  console.log('done');
}).on('close', () => process.exit(0));

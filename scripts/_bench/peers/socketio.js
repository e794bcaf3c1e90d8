// Socket.IO with its Redis adapter: an emit to all.
const readline = require('readline');
const { createServer } = require('http');
const { Server } = require('socket.io');
const { createAdapter } = require('@socket.io/redis-adapter');
const { createClient } = require('redis');

async function main() {
  const path = decodeURIComponent(process.argv[2].replace(/^unix:\/\//, '').replace(/\?.*/, ''));
  const publisher = createClient({ socket: { path } });
  const subscriber = publisher.duplicate();
  await Promise.all([publisher.connect(), subscriber.connect()]);
  const http = createServer();
  const server = new Server(http, {
    adapter: createAdapter(publisher, subscriber),
    transports: ['websocket'],
    perMessageDeflate: false,
  });
  http.listen(0, '127.0.0.1', () => console.log(http.address().port));
  readline.createInterface({ input: process.stdin }).on('line', async (line) => {
    const [, moves, size] = line.split(' ');
    const message = 'x'.repeat(Number(size));
    for (let move = 0; move < Number(moves); move++) {
      server.emit('move', message);
      await new Promise(setImmediate);
    }
    console.log('done');
  }).on('close', () => process.exit(0));
}

main();

/* The floor of fan-out: send() one frame to each socket, one after the other, and nothing else.
 *
 * Listens on 127.0.0.1 at any port and prints it. Commands on stdin, each answered by one line:
 *
 *   accept COUNT        -> accepted COUNT
 *   send MOVES BYTES    MOVES times a frame of BYTES to each socket
 *                       -> sent
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define LIMIT 70000
#define FRAME_LIMIT 65536

static int fds[LIMIT], count;
static char frame[FRAME_LIMIT];

static void accept_sockets(int listener, int wanted) {
    int one = 1;
    while (count < wanted) {
        int fd = accept(listener, NULL, NULL);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        fds[count++] = fd;
    }
    printf("accepted %d\n", count);
}

static void send_moves(int moves, int bytes) {
    for (int move = 0; move < moves; move++)
        for (int i = 0; i < count; i++)
            if (send(fds[i], frame, bytes, MSG_NOSIGNAL) != bytes) {
                perror("send");
                exit(1);
            }
    printf("sent\n");
}

int main(void) {
    char line[256];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int first, second, listener = socket(AF_INET, SOCK_STREAM, 0);
    bind(listener, (struct sockaddr *)&address, sizeof address);
    listen(listener, 4096);
    getsockname(listener, (struct sockaddr *)&address, &size);
    memset(frame, 'x', sizeof frame);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "accept %d", &first) == 1)
            accept_sockets(listener, first);
        else if (sscanf(line, "send %d %d", &first, &second) == 2)
            send_moves(first, second);
        fflush(stdout);
    }
    return 0;
}

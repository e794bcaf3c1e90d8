/* Many cheap WebSocket clients in one process: they count bytes, tell when enough have come, and echo.
 *
 * Frames are not parsed beyond the end of the handshake, so that a server is what is measured.
 * With an argument, a number of microseconds, it looks at its sockets only so often. Like clients on
 * other machines, it then costs the sender no wake-up of a sleeping process for each message, which
 * is as much as the rest of a send() and depends on how fast the receiver is.
 *
 * Commands come on stdin, one a line, and each is answered by one line on stdout:
 *
 *   add COUNT GROUP        plan that many sockets; the next line is the path of the request (empty:
 *                          no handshake), the one after it headers joined by \r\n, and the one after
 *                          that a text message to send first, or nothing (not answered)
 *   open HOST PORT AT_ONCE connect what is planned, so many at once
 *                          -> opened COUNT FAILED
 *   expect GROUP BYTES T0  each socket of GROUP is to get BYTES more; T0 is when they were asked
 *                          for, in ns of CLOCK_MONOTONIC, or 0               (not answered)
 *   wait SECONDS           until all have what they are to get
 *                          -> got MISSING
 *   settle MS              read until nothing has come for so long, and forget what was expected
 *                          -> settled TOTAL_BYTES
 *   latencies              -> latencies COUNT NS NS ...   from T0 to the last byte, and forget them
 *   times                  -> times COUNT CONNECTED_NS ...   when each socket got its first byte
 *                             after the handshake, counted from its open command
 *   echo SECONDS BYTES     keep one message of BYTES under way on each socket
 *                          -> echoed COUNT
 *   close                  close all sockets
 *                          -> closed
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LIMIT 70000
#define GROUPS 20000
#define EVENTS 512
#define BUFFER (256 * 1024)
#define ADDRESSES 8 /* of 127.0.0.0/8: one has ports for 28,000 connections to one server */

enum { CONNECTING, SHAKING, OPEN, GONE };

struct plan {
    int count, group;
    char *path, *headers, *hello;
};

struct socket_ {
    int fd, group, state, matched;
    int64_t bytes, opened_ns, first_ns, last_ns;
    const struct plan *plan;
};

static struct plan plans[LIMIT];
static int plan_count;
static char host[64];
static int port;
static struct socket_ sockets[LIMIT];
static int count, under_way, failed, epoll_fd;
static int64_t target[GROUPS], asked_ns[GROUPS], last_ns, total;
static int64_t *latencies;
static int latency_count, latency_room;
static char buffer[BUFFER], echo_frame[8192];
static int echo_bytes;
static int64_t echoed, echo_until;
static int lazy_us;

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void note_latency(int64_t ns) {
    if (latency_count == latency_room) {
        latency_room = latency_room ? latency_room * 2 : 4096;
        latencies = realloc(latencies, latency_room * sizeof *latencies);
    }
    latencies[latency_count++] = ns;
}

static void give_up(struct socket_ *s) {
    if (s->state == CONNECTING || s->state == SHAKING) {
        under_way--;
        failed++;
    }
    s->state = GONE;
    close(s->fd);
}

/* Say hello, if that is planned: one short text message, masked with zeros. */
static void greet(struct socket_ *s) {
    char frame[6 + 125] = {(char)0x81, (char)0x80};
    int size = strlen(s->plan->hello);
    if (size == 0 || size > 125)
        return;
    frame[1] |= size;
    memcpy(frame + 6, s->plan->hello, size);
    send(s->fd, frame, 6 + size, MSG_NOSIGNAL);
}

static void became_open(struct socket_ *s) {
    s->state = OPEN;
    under_way--;
    greet(s);
}

static void dial(const struct plan *plan) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in from = {.sin_family = AF_INET};
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd < 0 || count == LIMIT) {
        failed++;
        return;
    }
    inet_pton(AF_INET, host, &to.sin_addr);
    if ((ntohl(to.sin_addr.s_addr) >> 24) == 127) {
        from.sin_addr.s_addr = htonl(0x7f000001 + count % ADDRESSES);
        setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
        bind(fd, (struct sockaddr *)&from, sizeof from);
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct socket_ *s = &sockets[count];
    *s = (struct socket_){.fd = fd, .group = plan->group, .plan = plan, .opened_ns = now_ns()};
    struct epoll_event e = {.events = EPOLLIN | EPOLLOUT, .data.u32 = count};
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &e);
    count++;
    under_way++;
    if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0 && errno != EINPROGRESS)
        give_up(s);
}

static int make_request(const struct plan *plan, char *request, int room) {
    return snprintf(request, room,
        "GET %s HTTP/1.1\r\nHost: %s:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n%s%s\r\n",
        plan->path, host, port, plan->headers, *plan->headers ? "\r\n" : "");
}

static void connected(struct socket_ *s, int number) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error) {
        give_up(s);
        return;
    }
    struct epoll_event e = {.events = EPOLLIN, .data.u32 = number};
    epoll_ctl(epoll_fd, EPOLL_CTL_MOD, s->fd, &e);
    s->state = SHAKING;
    if (!*s->plan->path) {
        became_open(s);
        return;
    }
    char request[8192];
    int length = make_request(s->plan, request, sizeof request);
    if (send(s->fd, request, length, MSG_NOSIGNAL) != length)
        give_up(s);
}

static void received(struct socket_ *s, const char *data, ssize_t n) {
    static const char end[] = "\r\n\r\n";
    last_ns = now_ns();
    if (s->state == SHAKING) {
        for (ssize_t i = 0; i < n; i++) {
            s->matched = data[i] == end[s->matched] ? s->matched + 1 : data[i] == '\r';
            if (s->matched == 4) {
                became_open(s);
                received(s, data + i + 1, n - i - 1);
                return;
            }
        }
        return;
    }
    if (n == 0)
        return;
    if (s->first_ns == 0)
        s->first_ns = last_ns - s->opened_ns;
    int64_t before = s->bytes;
    s->last_ns = last_ns;
    s->bytes += n;
    total += n;
    if (before < target[s->group] && s->bytes >= target[s->group] && asked_ns[s->group])
        note_latency(last_ns - asked_ns[s->group]);
    if (echo_bytes && s->bytes >= echo_bytes) {
        s->bytes = 0;
        echoed++;
        if (last_ns < echo_until)
            send(s->fd, echo_frame, echo_bytes + 4, MSG_NOSIGNAL);
    }
}

/* A ping that comes by itself is answered; one among data may be missed, as a server bears it. */
static int is_ping(struct socket_ *s, ssize_t n) {
    static const char pong[] = {(char)0x8a, (char)0x80, 0, 0, 0, 0};
    if (s->state != OPEN || n != 2 || buffer[0] != (char)0x89)
        return 0;
    send(s->fd, pong, sizeof pong, MSG_NOSIGNAL);
    return 1;
}

static void readable(struct socket_ *s) {
    ssize_t n = recv(s->fd, buffer, sizeof buffer, 0);
    if (is_ping(s, n))
        return;
    if (n > 0 && s->state == SHAKING && n >= 12 && s->matched == 0 && memcmp(buffer + 9, "101", 3))
        give_up(s);
    else if (n > 0)
        received(s, buffer, n);
    else if (n == 0 || errno != EAGAIN)
        give_up(s);
}

static int turn(int wait_ms) {
    static int is_full;
    struct epoll_event events[EVENTS];
    if (lazy_us && wait_ms && !is_full)
        usleep(lazy_us);
    int n = epoll_wait(epoll_fd, events, EVENTS, lazy_us ? 0 : wait_ms);
    is_full = n == EVENTS;
    for (int i = 0; i < n; i++) {
        struct socket_ *s = &sockets[events[i].data.u32];
        if (s->state == CONNECTING)
            connected(s, events[i].data.u32);
        else if (s->state != GONE)
            readable(s);
    }
    return n;
}

static int missing(void) {
    int n = 0;
    for (int i = 0; i < count; i++)
        n += sockets[i].bytes < target[sockets[i].group];
    return n;
}

/* Tell whether a socket is gone that has not got all. */
static int is_hopeless(void) {
    for (int i = 0; i < count; i++)
        if (sockets[i].state == GONE && sockets[i].bytes < target[sockets[i].group])
            return 1;
    return 0;
}

static int stdin_ready(void) {
    struct pollfd p = {.fd = 0, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

static char line[8192];
static char input[65536];
static size_t input_from, input_to;

/* Read a line of commands; meanwhile go on reading sockets, as stdin is in the epoll set, too. */
static int next_line(void) {
    for (;;) {
        char *end = memchr(input + input_from, '\n', input_to - input_from);
        if (end) {
            size_t n = end - (input + input_from);
            memcpy(line, input + input_from, n);
            line[n] = 0;
            input_from += n + 1;
            return 1;
        }
        memmove(input, input + input_from, input_to - input_from);
        input_to -= input_from;
        input_from = 0;
        while (!stdin_ready()) {
            struct pollfd p[2] = {{.fd = 0, .events = POLLIN}, {.fd = epoll_fd, .events = POLLIN}};
            if (!lazy_us)
                poll(p, 2, -1);
            turn(1);
        }
        ssize_t n = read(0, input + input_to, sizeof input - input_to);
        if (n <= 0)
            return 0;
        input_to += n;
    }
}

static void unescape(char *text) {
    char *to = text;
    for (char *from = text; *from; from++, to++) {
        *to = *from;
        if (from[0] == '\\' && (from[1] == 'r' || from[1] == 'n'))
            *to = *++from == 'r' ? '\r' : '\n';
    }
    *to = 0;
}

static void add(const char *command) {
    struct plan *plan = &plans[plan_count++];
    sscanf(command, "add %d %d", &plan->count, &plan->group);
    next_line();
    plan->path = strdup(line);
    next_line();
    unescape(line);
    plan->headers = strdup(line);
    next_line();
    plan->hello = strdup(line);
}

static void open_sockets(const char *command) {
    int at_once, made = 0;
    sscanf(command, "open %63s %d %d", host, &port, &at_once);
    failed = 0;
    for (int i = 0; i < plan_count; i++)
        for (int n = 0; n < plans[i].count; n++, made++) {
            while (under_way >= at_once)
                turn(1000);
            dial(&plans[i]);
        }
    while (under_way > 0)
        turn(1000);
    for (int i = 0; i < plan_count; i++) {
        free(plans[i].path);
        free(plans[i].headers);
        free(plans[i].hello);
    }
    plan_count = 0;
    printf("opened %d %d\n", made, failed);
}

static void expect(const char *command) {
    int group;
    long bytes;
    long long t0;
    sscanf(command, "expect %d %ld %lld", &group, &bytes, &t0);
    target[group] += bytes;
    asked_ns[group] = t0;
    for (int i = 0; t0 && i < count; i++) /* what has come before we were told to wait for it */
        if (sockets[i].group == group && sockets[i].bytes >= target[group])
            note_latency(sockets[i].last_ns - t0);
}

static void wait_all(const char *command) {
    double seconds;
    sscanf(command, "wait %lf", &seconds);
    int64_t end = now_ns() + seconds * 1e9;
    int left;
    while ((left = missing()) > 0 && now_ns() < end && !is_hopeless())
        for (int i = 0, n = 1; i < left && n > 0; i += n)
            n = turn(10);
    printf("got %d\n", left);
}

static void settle(const char *command) {
    int ms;
    sscanf(command, "settle %d", &ms);
    last_ns = now_ns();
    while (now_ns() - last_ns < ms * 1000000LL)
        turn(ms / 4 + 1);
    for (int i = 0; i < count; i++)
        sockets[i].bytes = 0;
    memset(target, 0, sizeof target);
    memset(asked_ns, 0, sizeof asked_ns);
    printf("settled %lld\n", (long long)total);
}

static void list_latencies(void) {
    printf("latencies %d", latency_count);
    for (int i = 0; i < latency_count; i++)
        printf(" %lld", (long long)latencies[i]);
    printf("\n");
    latency_count = 0;
}

static void list_times(void) {
    printf("times %d", count);
    for (int i = 0; i < count; i++)
        printf(" %lld", (long long)sockets[i].first_ns);
    printf("\n");
}

/* Frames both ways have a header of the same length but for the mask of the client's. */
static void make_echo_frame(int payload) {
    int header = payload < 126 ? 2 : 4;
    memset(echo_frame, 0, sizeof echo_frame);
    echo_frame[0] = (char)0x82;
    if (header == 2) {
        echo_frame[1] = (char)(0x80 | payload);
    } else {
        echo_frame[1] = (char)(0x80 | 126);
        echo_frame[2] = (char)(payload >> 8);
        echo_frame[3] = (char)payload;
    }
    echo_bytes = header + payload;
}

static void echo(const char *command) {
    double seconds;
    int payload;
    sscanf(command, "echo %lf %d", &seconds, &payload);
    make_echo_frame(payload);
    echoed = 0;
    echo_until = now_ns() + seconds * 1e9;
    for (int i = 0; i < count; i++) {
        sockets[i].bytes = 0;
        send(sockets[i].fd, echo_frame, echo_bytes + 4, MSG_NOSIGNAL);
    }
    int64_t started = echoed;
    while (now_ns() < echo_until)
        turn(100);
    int64_t during = echoed - started;
    while (turn(100) > 0)
        ;
    echo_bytes = 0;
    printf("echoed %lld\n", (long long)during);
}

static void close_all(void) {
    for (int i = 0; i < count; i++)
        if (sockets[i].state != GONE)
            close(sockets[i].fd);
    count = under_way = latency_count = 0;
    total = 0;
    memset(target, 0, sizeof target);
    memset(asked_ns, 0, sizeof asked_ns);
    printf("closed\n");
}

int main(int count, char **arguments) {
    lazy_us = count > 1 ? atoi(arguments[1]) : 0;
    epoll_fd = epoll_create1(0);
    while (next_line()) {
        if (!strncmp(line, "expect", 6)) expect(line);
        else if (!strncmp(line, "add", 3)) add(line);
        else if (!strncmp(line, "open", 4)) open_sockets(line);
        else if (!strncmp(line, "wait", 4)) wait_all(line);
        else if (!strncmp(line, "settle", 6)) settle(line);
        else if (!strncmp(line, "latencies", 9)) list_latencies();
        else if (!strncmp(line, "times", 5)) list_times();
        else if (!strncmp(line, "echo", 4)) echo(line);
        else if (!strncmp(line, "close", 5)) close_all();
        fflush(stdout);
    }
    return 0;
}

// The cage around ffmpeg, with programs that misbehave in its place; and the real one where it is
// installed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "audio/child_process.h"
#include "audio/source.h"
#include "audio/wav_bytes.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/scratch_folder.h"

namespace verbatim {
namespace {

class Folder : public ScratchFolder {
 public:
  // A shell script in ffmpeg's place, and something for it to read.
  AudioRequest with_ffmpeg(const std::string& script) const {
    AudioRequest request;
    request.what = write("clip.mp3", "not the audio of any format");
    request.ffmpeg = write("ffmpeg", "#!/bin/sh\n" + script + "\n");
    chmod(request.ffmpeg.c_str(), 0755);
    request.limits.stall_s = 30;
    return request;
  }
};

std::vector<float> samples_of(const AudioRequest& request) {
  const std::unique_ptr<AudioSource> source = open_audio(request);
  std::vector<float> samples;
  std::vector<float> block(1000);
  while (const std::size_t count = source->read(block))
    samples.insert(samples.end(), block.begin(),
                   block.begin() + static_cast<std::ptrdiff_t>(count));
  return samples;
}

struct Failure {
  Code code = Code::kInternal;
  std::string what;  // without the path in front
};

Failure failure_of(const AudioRequest& request) {
  try {
    samples_of(request);
  } catch (const Error& error) {
    const std::string what = error.what();
    const bool names_it = what.rfind(request.what + ": ", 0) == 0;
    return {error.code(), names_it ? what.substr(request.what.size() + 2) : what};
  }
  return {};
}

bool has_no_children() {
  return waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD;
}

const std::string kEndlessHeader =
    riff_bytes(chunk_bytes("fmt ", format_bytes({.tag = 3, .rate = 8000, .bits = 32})) + "data" +
               little_bytes(0xFFFFFFFF, 4));

TEST(SourceFfmpeg, ItsOutputIsTheAudio) {
  const Folder folder;
  folder.write("out.wav", kEndlessHeader + raw_bytes<float>({0.5F, -0.25F, 2}));
  EXPECT_EQ(samples_of(folder.with_ffmpeg("cat " + folder.path("out.wav"))),
            (std::vector<float>{0.5F, -0.25F, 2}));
  EXPECT_TRUE(has_no_children());
}

TEST(SourceFfmpeg, ItIsAskedForOneTrackOfTheKnownFormatsOnly) {
  const Folder folder;
  AudioRequest request = folder.with_ffmpeg("echo \"$@\" >&2; exit 1");
  request.limits.audio_s = 99;
  const Failure failure = failure_of(request);
  EXPECT_EQ(failure.code, Code::kCorrupt);
  EXPECT_EQ(failure.what,
            "ffmpeg cannot decode it (exit status 1): -nostdin -hide_banner -v error "
            "-protocol_whitelist file -format_whitelist aac,aiff,amr,amrnb,amrwb,asf,au,caf,flac,"
            "loas,matroska,webm,mov,mp4,m4a,3gp,mp3,mpeg,mpegts,ogg,w64,wav -threads 1 "
            "-filter_threads 1 -i /dev/fd/3 -map 0:a:0 -vn -sn -dn -t 100 -c:a pcm_f32le -f wav "
            "pipe:1");
}

TEST(SourceFfmpeg, AFailureCarriesItsFirstLine) {
  const Folder folder;
  const Failure failure =
      failure_of(folder.with_ffmpeg("echo '/dev/fd/3: no such luck' >&2; echo more >&2; exit 69"));
  EXPECT_EQ(failure.code, Code::kCorrupt);
  EXPECT_EQ(failure.what, "ffmpeg cannot decode it (exit status 69): no such luck");
  EXPECT_EQ(failure_of(folder.with_ffmpeg("echo \"[ac3 @ 0x5581] Format not on whitelist 'a,b'\" "
                                          ">&2; exit 1"))
                .what,
            "ffmpeg cannot decode it (exit status 1): [ac3] Format not on whitelist");
  EXPECT_EQ(failure_of(folder.with_ffmpeg("exit 1")).what,
            "ffmpeg cannot decode it (exit status 1): it gave no reason");
  EXPECT_EQ(failure_of(folder.with_ffmpeg("kill -9 $$")).what,
            "ffmpeg was stopped by signal 9 (it gave no reason)");
  EXPECT_EQ(failure_of(folder.with_ffmpeg("exit 0")).what,
            folder.path("ffmpeg") + " printed no WAV");
  EXPECT_TRUE(has_no_children());
}

TEST(SourceFfmpeg, AFailureBehindTheAudioIsAFailure) {
  const Folder folder;
  folder.write("out.wav", kEndlessHeader + raw_bytes<float>({0.5F, -0.25F}));
  const Failure failure =
      failure_of(folder.with_ffmpeg("cat " + folder.path("out.wav") + "; echo late >&2; exit 2"));
  EXPECT_EQ(failure.what, "ffmpeg cannot decode it (exit status 2): late");
}

TEST(SourceFfmpeg, AnAbsentProgramIsNamed) {
  const Folder folder;
  AudioRequest request = folder.with_ffmpeg("exit 0");
  request.ffmpeg = "";
  EXPECT_EQ(failure_of(request).code, Code::kUnsupported);
  EXPECT_EQ(failure_of(request).what,
            "neither WAV, RF64, W64 nor FLAC; other formats are read through an ffmpeg program, "
            "and none was found");
  request.ffmpeg = "/nowhere/ffmpeg";
  EXPECT_EQ(failure_of(request).code, Code::kNotFound);
  EXPECT_EQ(failure_of(request).what,
            "/nowhere/ffmpeg: cannot be started: No such file or directory");
}

TEST(SourceFfmpeg, SilenceAndAFloodOfErrorsEndAtTheDeadline) {
  const Folder folder;
  for (const char* script : {"sleep 1000", "yes >&2", "exec >&-; sleep 1000"}) {
    AudioRequest request = folder.with_ffmpeg(script);
    request.limits.stall_s = 0.2;
    const Failure failure = failure_of(request);
    EXPECT_EQ(failure.code, Code::kIo);
    EXPECT_NE(failure.what.find("for 0.2 s and was stopped"), std::string::npos) << failure.what;
    EXPECT_TRUE(has_no_children());
  }
}

TEST(SourceFfmpeg, AnInterruptEndsTheWait) {
  const Folder folder;
  const AudioRequest request = folder.with_ffmpeg("sleep 1000");
  set_interrupted(true);
  const Failure failure = failure_of(request);
  set_interrupted(false);
  EXPECT_EQ(failure.code, Code::kCancelled);
  EXPECT_EQ(failure.what, "interrupted");
  EXPECT_TRUE(has_no_children());
}

TEST(SourceFfmpeg, GigabytesAreStoppedWhileTheyCome) {
  const Folder folder;
  EXPECT_EQ(failure_of(folder.with_ffmpeg("yes")).what, folder.path("ffmpeg") + " printed no WAV");
  folder.write("head.wav", kEndlessHeader);
  AudioRequest request = folder.with_ffmpeg("cat " + folder.path("head.wav") + " /dev/zero");
  request.limits.audio_s = 10;
  Failure failure = failure_of(request);
  EXPECT_EQ(failure.code, Code::kExhausted);
  EXPECT_EQ(failure.what, "more than 10 s of audio, the most that is read");
  request.limits = {};
  request.limits.decoded_bytes = 1 << 20;
  failure = failure_of(request);
  EXPECT_EQ(failure.code, Code::kExhausted);
  EXPECT_EQ(failure.what, "decodes to more than 1048576 bytes, the most that is read");
  EXPECT_TRUE(has_no_children());
}

TEST(SourceFfmpeg, ASourceThatIsDroppedLeavesNothingRunning) {
  const Folder folder;
  folder.write("head.wav", kEndlessHeader);
  {
    const std::unique_ptr<AudioSource> source =
        open_audio(folder.with_ffmpeg("cat " + folder.path("head.wav") + " /dev/zero & wait"));
    std::vector<float> block(1000);
    EXPECT_GT(source->read(block), 0U);
  }
  EXPECT_TRUE(has_no_children());
}

std::string read_to_end(int file) {
  std::string text;
  char bytes[4096];
  pollfd waiting{file, POLLIN, 0};
  while (poll(&waiting, 1, 30000) > 0) {
    const ssize_t count = read(file, bytes, sizeof bytes);
    if (count <= 0) break;
    text.append(bytes, static_cast<std::size_t>(count));
  }
  return text;
}

// Asked of a child of our own, so that this process keeps its network.
bool unshare_is_refused() {
  const pid_t child = fork();
  if (child == 0)
    _exit(unshare(geteuid() == 0 ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET) == 0 ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return status != 0;
}

std::string output_of(const std::string& script, int input) {
  ChildProcess child({"/bin/sh", "-c", script}, input, {});
  return read_to_end(child.output());
}

TEST(ChildProcess, TheCageHoldsNothingOfOurs) {
  const Folder folder;
  const int input = open(folder.write("in", "the input").c_str(), O_RDONLY | O_CLOEXEC);
  const int other = open(folder.write("other", "").c_str(), O_RDONLY);  // no close-on-exec
  EXPECT_EQ(output_of("cat /dev/fd/3", input), "the input");
  EXPECT_EQ(output_of("i=0; while [ $i -lt 64 ]; do [ -e /proc/$$/fd/$i ] && echo -n \"$i \"; "
                      "i=$((i + 1)); done",
                      input),
            "0 1 2 3 ");
  EXPECT_EQ(output_of("/usr/bin/env | grep -v -e ^PWD= -e ^_= -e ^SHLVL=", input), "");
  EXPECT_EQ(output_of("echo *; (: > made) 2>&- || echo no file", input), "*\nno file\n");
  EXPECT_EQ(output_of("ulimit -v; ulimit -t; ulimit -n; ulimit -c", input),
            "2097152\n3600\n16\n0\n");
  EXPECT_EQ(output_of("grep -e NoNewPrivs -e SigIgn -e SigBlk /proc/self/status", input),
            "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nNoNewPrivs:\t1\n");
  EXPECT_EQ(output_of("echo x > " + folder.path("other") + "; echo behind", input), "");
  close(other);
  close(input);
  EXPECT_EQ(std::filesystem::file_size(folder.path("other")), 0U);
  EXPECT_TRUE(has_no_children());
}

TEST(ChildProcess, TheCageHasNoNetworkWherePermitted) {
  const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const std::string devices = output_of("sed -n '3,$s/:.*//p' /proc/net/dev", input);
  close(input);
  if (unshare_is_refused()) GTEST_SKIP() << "network namespaces are not permitted here";
  EXPECT_EQ(devices.find_first_not_of(" lo\n"), std::string::npos) << devices;
}

TEST(ChildProcess, TheWholeGroupEndsWithTheObject) {
  const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  int output = -1;
  {
    ChildProcess child({"/bin/sh", "-c", "sleep 1000 & sleep 1000 & echo started; wait"}, input,
                       {});
    char line[8];
    EXPECT_EQ(read(child.output(), line, sizeof line), 8);
    output = dup(child.output());
  }
  // Every holder of the writing end is gone: the end comes at once.
  EXPECT_EQ(read_to_end(output), "");
  pollfd waiting{output, POLLIN, 0};
  EXPECT_EQ(poll(&waiting, 1, 0), 1);
  EXPECT_NE(waiting.revents & POLLHUP, 0);
  close(output);
  close(input);
}

// The real program, or "" with the reason printed.
std::string real_ffmpeg() {
  return find_ffmpeg("/usr/local/bin:/usr/bin:/bin");
}

TEST(SourceFfmpeg, TheRealOneDecodesWhatWeCannot) {
  const std::string ffmpeg = real_ffmpeg();
  if (ffmpeg.empty()) GTEST_SKIP() << "no ffmpeg is installed";
  const Folder folder;
  std::vector<std::int16_t> values;
  for (int i = 0; i < 48000; ++i)
    values.push_back(static_cast<std::int16_t>((i * 400) % 16000 - 8000));
  const std::string wav = folder.write("clip.wav", wav_bytes({.rate = 48000}, raw_bytes(values)));
  for (const char* name : {"clip.m4a", "clip.mp3", "clip.opus", "clip.aiff", "clip.mka"}) {
    const std::string command = ffmpeg + " -v error -nostdin -i " + wav + " " + folder.path(name);
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    AudioRequest request;
    request.what = folder.path(name);
    request.ffmpeg = ffmpeg;
    request.sample_rate_hz = 24000;
    const auto count = static_cast<double>(samples_of(request).size());
    EXPECT_NEAR(count, 24000, 1500) << name;  // codecs pad to their own frames
    EXPECT_EQ(audio_facts(request).channels, 1);
    // An unnamed file, as the server spools an upload: the name says nothing.
    request.file = open(request.what.c_str(), O_RDONLY | O_CLOEXEC);
    unlink(request.what.c_str());
    request.what = "upload";
    EXPECT_EQ(static_cast<double>(samples_of(request).size()), count) << name;
    close(request.file);
  }
  EXPECT_TRUE(has_no_children());
}

TEST(SourceFfmpeg, APlaylistOpensNoOtherFile) {
  const std::string ffmpeg = real_ffmpeg();
  if (ffmpeg.empty()) GTEST_SKIP() << "no ffmpeg is installed";
  const Folder folder;
  const std::string secret = folder.write("secret.wav", wav_bytes({}, std::string(32000, '\x11')));
  const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  ASSERT_GE(inotify_add_watch(watch, secret.c_str(), IN_OPEN | IN_ACCESS), 0);
  const std::string playlists[] = {
      "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n" + secret + "\n#EXT-X-ENDLIST\n",
      "ffconcat version 1.0\nfile '" + secret + "'\n",
      "ffconcat version 1.0\nfile 'file:" + secret + "'\n",
      "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nm=audio 5004 RTP/AVP 0\n",
      "<?xml version=\"1.0\"?><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\"><Period><AdaptationSet>"
      "<Representation><BaseURL>" +
          secret +
          "</BaseURL></Representation></AdaptationSet></Period>"
          "</MPD>"};
  for (const std::string& playlist : playlists) {
    AudioRequest request;
    request.what = folder.write("clip.mp3", playlist);
    request.ffmpeg = ffmpeg;
    const Failure failure = failure_of(request);
    EXPECT_EQ(failure.code, Code::kCorrupt);
    EXPECT_EQ(failure.what.substr(0, 23), "ffmpeg cannot decode it") << failure.what;
    char event[512];
    EXPECT_EQ(read(watch, event, sizeof event), -1) << playlist;
  }
  close(watch);
}

TEST(SourceFfmpeg, OnlyAnExecutableFileInAFullPathIsFound) {
  const Folder folder;
  EXPECT_EQ(find_ffmpeg(""), "");
  EXPECT_EQ(find_ffmpeg(":.:" + folder.path("")), "");
  const std::string program = folder.write("ffmpeg", "");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const std::string place = program.substr(0, program.rfind('/'));
  EXPECT_EQ(find_ffmpeg("/nowhere:" + place + ":/usr/bin"), program);
  std::filesystem::permissions(program, std::filesystem::perms::owner_read);
  EXPECT_EQ(find_ffmpeg(place), "");
  std::filesystem::remove(program);
  std::filesystem::create_directory(program);
  EXPECT_EQ(find_ffmpeg(place), "");
}

}  // namespace
}  // namespace verbatim
